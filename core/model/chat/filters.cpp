// SPDX-License-Identifier: Apache-2.0
// Filters, as Jinja has them, and tojson as transformers has it.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/model/chat/interpreter.h"
#include "core/model/chat/letters.h"

namespace kvlab::chat {
namespace {

Result<Value> trim(Call& call) {
  Value text = Value::string(KV_TRY(call.onText()));
  Call inner{call.run, call.name, text, std::move(call.placed), std::move(call.named)};
  return apply(textMethods().at("strip"), std::move(inner));
}

template <std::string (*Change)(std::string_view)>
Result<Value> change(Call& call) {
  const std::string text = KV_TRY(call.onText());
  KV_TRY(call.run.spend(static_cast<std::int64_t>(text.size())));
  return call.run.text(Change(text));
}

/// Words begin behind white space, - and opening brackets; the method of the same name goes by letters.
std::string titledWords(std::string_view text) {
  std::string out;
  std::size_t begin = 0;
  const auto flush = [&](std::size_t end) {
    out += capitalised(text.substr(begin, end - begin));
    begin = end;
  };
  std::size_t at = 0;
  for (const std::string_view c : characters(text)) {
    if (stripped(c, true, true).empty() || std::string_view("-({[<").find(c) != std::string_view::npos) {
      flush(at);
      out += c;
      begin = at + c.size();
    }
    at += c.size();
  }
  flush(at);
  return out;
}

Result<Value> string(Call& call) {
  if (call.on.is(Kind::Text)) return call.on;
  return call.run.text(KV_TRY(call.onText()));
}

Result<Value> tojson(Call& call) {
  KV_TRY(call.run.spend(call.on.weight));
  JsonStyle style;
  style.ascii = call.has(0) && call.arg(0).truth();
  style.indent = static_cast<int>(std::clamp<std::int64_t>(KV_TRY(call.numberArg(1, -1)), -1, 32));
  if (call.has(2) && call.arg(2).is(Kind::List) && call.arg(2).list->size() == 2) {
    style.item = textOf(call.arg(2).list->at(0));
    style.key = textOf(call.arg(2).list->at(1));
    if (style.item.size() + style.key.size() > 64) return call.bad("gets separators that are too long");
  }
  style.sorted = call.has(3) && call.arg(3).truth();
  auto text = jsonOf(call.on, style);
  if (!text) return call.bad("cannot write type " + typeName(call.on) + " or what it holds");
  return call.run.text(std::move(*text));
}

Result<Value> length(Call& call) {
  KV_TRY(call.run.spend(call.on.weight));
  if (call.on.is(Kind::Undefined)) return Value::number(0);
  if (call.on.is(Kind::List)) return Value::number(static_cast<std::int64_t>(call.on.list->size()));
  if (call.on.is(Kind::Dict)) return Value::number(static_cast<std::int64_t>(call.on.dict->size()));
  if (!call.on.is(Kind::Text)) return call.bad("does not count type " + typeName(call.on));
  const List all = KV_TRY(call.run.members(call.on));
  return Value::number(static_cast<std::int64_t>(all.size()));
}

/// "a.b" of an item.
Result<Value> attributeOf(Call& call, Value item, const std::string& path) {
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find('.', at), path.size());
    item = KV_TRY(call.run.attribute(item, path.substr(at, end - at)));
    at = end + 1;
  }
  return item;
}

Result<Value> join(Call& call) {
  const std::string by = KV_TRY(call.textArg(0, std::string())), attribute = KV_TRY(call.textArg(1, std::string()));
  List items = KV_TRY(call.run.members(call.on));
  KV_TRY(call.run.spend(call.on.weight));
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!attribute.empty()) items[i] = KV_TRY(attributeOf(call, items[i], attribute));
    KV_TRY(call.run.spend(1 + static_cast<std::int64_t>(by.size() / 16) + items[i].weight));
    out += (i ? by : "") + textOf(items[i]);
  }
  return call.run.text(std::move(out));
}

Result<Value> otherwise(Call& call) {
  const bool missing = call.on.is(Kind::Undefined) || (call.has(1) && call.arg(1).truth() && !call.on.truth());
  if (!missing) return call.on;
  return call.has(0) ? call.arg(0) : Value::string("");
}

Result<Value> border(Call& call, bool first) {
  const List all = KV_TRY(call.run.members(call.on));
  if (all.empty()) return Value::undefined(first ? "the first of nothing" : "the last of nothing");
  return first ? all.front() : all.back();
}

Result<Value> list(Call& call) {
  auto all = KV_TRY(call.run.members(call.on));
  return call.run.made(Value::listOf(std::move(all)));
}

Result<Value> pairs(Call& call, bool sorted) {
  if (call.on.is(Kind::Undefined) && !sorted) return Value::listOf({});
  if (!call.on.is(Kind::Dict)) return call.bad("wants a dict, not " + typeName(call.on));
  KV_TRY(call.run.spend(24 * static_cast<std::int64_t>(call.on.dict->size())));
  Dict entries = *call.on.dict;
  if (sorted)
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return lowered(a.first) < lowered(b.first); });
  List out;
  for (const auto& [key, value] : entries) out.push_back(Value::listOf({Value::string(key), value}, true));
  return call.run.made(Value::listOf(std::move(out)));
}

Result<Value> replace(Call& call) {
  const std::string text = KV_TRY(call.onText()), from = KV_TRY(call.textArg(0)), to = KV_TRY(call.textArg(1));
  const std::int64_t most = KV_TRY(call.numberArg(2, -1));
  return replaced(call, text, from, to, most);
}

/// True if an item passes a test: argument `from` names the test, and later arguments go to the test. Without such an
/// argument the truth of the item counts.
Result<bool> passes(Call& call, const Value& item, std::size_t from) {
  if (call.placed.size() <= from) return item.truth();
  if (!call.placed[from].is(Kind::Text)) return call.bad("wants the name of a test");
  const auto test = tests().find(call.placed[from].str());
  if (test == tests().end())
    return call.bad("names the test \"" + call.placed[from].str() + "\", which is not implemented");
  std::vector<Value> rest(call.placed.begin() + static_cast<std::ptrdiff_t>(from) + 1, call.placed.end());
  const Value held = KV_TRY(apply(test->second, {call.run, test->first, item, std::move(rest), {}}));
  return held.truth();
}

Result<Value> select(Call& call, bool keep, bool attribute) {
  if (attribute && (call.placed.empty() || !call.placed[0].is(Kind::Text)))
    return call.bad("wants the name of an attribute");
  if (!call.named.empty()) return call.bad("has no argument \"" + call.named.front().first + "\" that is implemented");
  const List all = KV_TRY(call.run.members(call.on));
  List out;
  for (const Value& item : all) {
    const Value looked = attribute ? KV_TRY(attributeOf(call, item, call.placed[0].str())) : item;
    const bool passed = KV_TRY(passes(call, looked, attribute ? 1 : 0));
    if (passed == keep) out.push_back(item);
  }
  return call.run.made(Value::listOf(std::move(out)));
}

Result<Value> map(Call& call) {
  const Value *attribute = entryOf(call.named, "attribute"), *missing = entryOf(call.named, "default");
  const auto filter =
      !call.placed.empty() && call.placed[0].is(Kind::Text) ? filters().find(call.placed[0].str()) : filters().end();
  if (attribute ? !attribute->is(Kind::Text) : filter == filters().end())
    return call.bad("wants attribute=..., or the name of a filter that is implemented");
  const List all = KV_TRY(call.run.members(call.on));
  List out;
  for (const Value& item : all) {
    if (attribute) {
      Value got = KV_TRY(attributeOf(call, item, attribute->str()));
      out.push_back(got.is(Kind::Undefined) && missing ? *missing : std::move(got));
    } else {
      std::vector<Value> rest(call.placed.begin() + 1, call.placed.end());
      out.push_back(KV_TRY(apply(filter->second, {call.run, filter->first, item, std::move(rest), call.named})));
    }
  }
  return call.run.made(Value::listOf(std::move(out)));
}

/// The number that is all of a text.
template <class T>
std::optional<T> numberIn(std::string_view text) {
  T out{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

Result<Value> toInt(Call& call) {
  const Value fallback = call.has(0) ? call.arg(0) : Value::number(0);
  if (call.on.is(Kind::Int) || call.on.is(Kind::Bool)) return Value::number(call.on.integer);
  if (call.on.is(Kind::Float)) {
    if (!(std::fabs(call.on.real) < 9e18)) return fallback;
    return Value::number(static_cast<std::int64_t>(call.on.real));
  }
  if (!call.on.is(Kind::Text)) return fallback;
  const std::string_view text = stripped(call.on.str(), true, true);
  if (const auto n = numberIn<std::int64_t>(text.substr(text.starts_with('+') ? 1 : 0))) return Value::number(*n);
  const auto x = numberIn<double>(text);
  return x && std::fabs(*x) < 9e18 ? Value::number(static_cast<std::int64_t>(*x)) : fallback;
}

Result<Value> toFloat(Call& call) {
  const Value fallback = call.has(0) ? call.arg(0) : Value::floating(0);
  if (call.on.isNumber()) return Value::floating(call.on.asReal());
  if (!call.on.is(Kind::Text)) return fallback;
  const auto x = numberIn<double>(stripped(call.on.str(), true, true));
  return x ? Value::floating(*x) : fallback;
}

Result<Value> absolute(Call& call) {
  if (!call.on.isNumber()) return call.bad("wants a number, not " + typeName(call.on));
  if (call.on.is(Kind::Float)) return Value::floating(std::fabs(call.on.real));
  return call.on.integer < 0 ? arithmetic(call.run, "-", Value::number(0), call.on) : Value::number(call.on.integer);
}

Result<Value> reverse(Call& call) {
  List all = KV_TRY(call.run.members(call.on));
  std::reverse(all.begin(), all.end());
  if (!call.on.is(Kind::Text)) return call.run.made(Value::listOf(std::move(all)));
  std::string out;
  for (const Value& c : all) out += c.str();
  return call.run.text(std::move(out));
}

/// Insertion keeps equals in order, and every comparison can fail.
Result<Value> sort(Call& call) {
  const bool backward = call.has(0) && call.arg(0).truth(), exact = call.has(1) && call.arg(1).truth();
  const std::string attribute = KV_TRY(call.textArg(2, std::string()));
  const List all = KV_TRY(call.run.members(call.on));
  List keys, out;
  for (const Value& item : all) {
    Value key = attribute.empty() ? item : KV_TRY(attributeOf(call, item, attribute));
    if (key.is(Kind::Text) && !exact) key = Value::string(lowered(key.str()));
    std::size_t place = keys.size();
    for (; place > 0; --place) {
      KV_TRY(call.run.spend(1 + std::min(key.weight, keys[place - 1].weight)));
      const auto before = backward ? less(keys[place - 1], key) : less(key, keys[place - 1]);
      if (!before) return call.bad("cannot compare " + typeName(key) + " and " + typeName(keys[place - 1]));
      if (!*before) break;
    }
    KV_TRY(call.run.spend(static_cast<std::int64_t>((keys.size() - place) / 4)));
    keys.insert(keys.begin() + static_cast<std::ptrdiff_t>(place), std::move(key));
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(place), item);
  }
  return call.run.made(Value::listOf(std::move(out)));
}

Result<Value> unique(Call& call) {
  const List all = KV_TRY(call.run.members(call.on));
  List keys, out;
  for (const Value& item : all) {
    const Value key = item.is(Kind::Text) ? Value::string(lowered(item.str())) : item;
    KV_TRY(call.run.spend(static_cast<std::int64_t>(keys.size()) + key.weight));
    if (std::any_of(keys.begin(), keys.end(), [&](const Value& k) { return equal(k, key); })) continue;
    keys.push_back(key);
    out.push_back(item);
  }
  return call.run.made(Value::listOf(std::move(out)));
}

Result<Value> extreme(Call& call, bool largest) {
  const List all = KV_TRY(call.run.members(call.on));
  if (all.empty()) return Value::undefined("the extreme of nothing");
  KV_TRY(call.run.spend(call.on.weight));
  Value best = all.front();
  for (const Value& item : all) {
    const auto before = largest ? less(best, item) : less(item, best);
    if (!before) return call.bad("cannot compare " + typeName(best) + " and " + typeName(item));
    if (*before) best = item;
  }
  return best;
}

/// indent(width, first, blank): every line but the first, and blank ones where asked.
Result<Value> indent(Call& call) {
  const std::string text = KV_TRY(call.onText());
  const bool isText = call.has(0) && call.arg(0).is(Kind::Text);
  const std::int64_t width = isText ? 0 : std::clamp<std::int64_t>(KV_TRY(call.numberArg(0, 4)), 0, 256);
  const std::string pad = isText ? call.arg(0).str() : std::string(static_cast<std::size_t>(width), ' ');
  const bool first = call.has(1) && call.arg(1).truth(), blank = call.has(2) && call.arg(2).truth();
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    if ((at > 0 || first) && (end > at || blank)) out += pad;
    out += text.substr(at, end - at);
    if (end < text.size()) out += '\n';
    if (out.size() > std::size_t{16} << 20) return call.bad("makes a text that is too long");
    at = end + 1;
  }
  return call.run.text(std::move(out));
}

}  // namespace

const Callables& filters() {
  static const Callables kFilters{
      {"abs", {absolute, {}}},
      {"capitalize", {change<capitalised>, {}}},
      {"count", {length, {}}},
      {"d", {otherwise, {"default_value", "boolean"}}},
      {"default", {otherwise, {"default_value", "boolean"}}},
      {"dictsort", {[](Call& c) { return pairs(c, true); }, {}}},
      {"first", {[](Call& c) { return border(c, true); }, {}}},
      {"float", {toFloat, {"default"}}},
      {"indent", {indent, {"width", "first", "blank"}}},
      {"int", {toInt, {"default"}}},
      {"items", {[](Call& c) { return pairs(c, false); }, {}}},
      {"join", {join, {"d", "attribute"}}},
      {"last", {[](Call& c) { return border(c, false); }, {}}},
      {"length", {length, {}}},
      {"list", {list, {}}},
      {"lower", {change<lowered>, {}}},
      {"map", {map, {"*"}}},
      {"max", {[](Call& c) { return extreme(c, true); }, {}}},
      {"min", {[](Call& c) { return extreme(c, false); }, {}}},
      {"reject", {[](Call& c) { return select(c, false, false); }, {"*"}}},
      {"rejectattr", {[](Call& c) { return select(c, false, true); }, {"*"}}},
      {"replace", {replace, {"old", "new", "count"}}},
      {"reverse", {reverse, {}}},
      {"safe", {string, {}}},
      {"select", {[](Call& c) { return select(c, true, false); }, {"*"}}},
      {"selectattr", {[](Call& c) { return select(c, true, true); }, {"*"}}},
      {"sort", {sort, {"reverse", "case_sensitive", "attribute"}}},
      {"string", {string, {}}},
      {"title", {change<titledWords>, {}}},
      {"tojson", {tojson, {"ensure_ascii", "indent", "separators", "sort_keys"}}},
      {"trim", {trim, {"*"}}},
      {"unique", {unique, {}}},
      {"upper", {change<uppered>, {}}},
  };
  return kFilters;
}

}  // namespace kvlab::chat
