// SPDX-License-Identifier: Apache-2.0
// Methods of texts, as Python has them.
#include <algorithm>

#include "core/model/chat/interpreter.h"
#include "core/model/chat/letters.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::chat {
namespace {

/// strip, lstrip, rstrip: white space, or any of the characters given.
Result<Value> strip(Call& call, bool left, bool right) {
  const std::string chars = KV_TRY(call.textArg(0, std::string()));
  const std::string& text = call.on.str();
  if (!call.has(0) || call.arg(0).is(Kind::None)) return call.run.text(std::string(stripped(text, left, right)));
  const auto set = characters(chars), all = characters(text);
  KV_TRY(call.run.spend(static_cast<std::int64_t>(all.size() * (1 + set.size() / 8))));
  const auto in = [&](std::string_view c) { return std::find(set.begin(), set.end(), c) != set.end(); };
  std::size_t begin = 0, end = all.size();
  while (left && begin < end && in(all[begin])) ++begin;
  while (right && end > begin && in(all[end - 1])) --end;
  std::string out;
  for (std::size_t i = begin; i < end; ++i) out += all[i];
  return call.run.text(std::move(out));
}

Result<Value> listOfTexts(Call& call, const std::vector<std::string_view>& parts) {
  KV_TRY(call.run.spend(8 * static_cast<std::int64_t>(parts.size())));
  List out;
  for (const std::string_view part : parts) out.push_back(Value::string(std::string(part)));
  return call.run.made(Value::listOf(std::move(out)));
}

/// Runs of white space divide; none stands at the ends.
std::vector<std::string_view> words(std::string_view text, std::int64_t most) {
  std::vector<std::string_view> out;
  text = stripped(text, true, false);
  while (!text.empty()) {
    std::size_t end = 0;
    if (most >= 0 && static_cast<std::int64_t>(out.size()) >= most) {
      end = stripped(text, false, true).size();
    } else {
      while (end < text.size()) {
        const CodePoint c = codePointAt(text, end);
        if (isBlank(c.value)) break;
        end += static_cast<std::size_t>(std::max(c.length, 1));
      }
    }
    out.push_back(text.substr(0, end));
    text = stripped(text.substr(end), true, false);
  }
  return out;
}

Result<Value> split(Call& call) {
  const std::int64_t most = KV_TRY(call.numberArg(1, -1));
  std::string_view text = call.on.str();
  KV_TRY(call.run.spend(call.on.weight));
  std::vector<std::string_view> out;
  if (!call.has(0) || call.arg(0).is(Kind::None)) {
    return listOfTexts(call, words(text, most));
  }
  const std::string by = KV_TRY(call.textArg(0));
  if (by.empty()) return call.bad("gets an empty separator");
  for (auto at = text.find(by); at != text.npos && (most < 0 || static_cast<std::int64_t>(out.size()) < most);
       at = text.find(by)) {
    out.push_back(text.substr(0, at));
    text.remove_prefix(at + by.size());
  }
  out.push_back(text);
  return listOfTexts(call, out);
}

Result<Value> rsplit(Call& call) {
  const std::string by = KV_TRY(call.textArg(0));
  const std::int64_t most = KV_TRY(call.numberArg(1, -1));
  if (by.empty()) return call.bad("gets an empty separator");
  std::string_view text = call.on.str();
  std::vector<std::string_view> out;
  for (auto at = text.rfind(by); at != text.npos && (most < 0 || static_cast<std::int64_t>(out.size()) < most);
       at = text.rfind(by)) {
    out.push_back(text.substr(at + by.size()));
    text = text.substr(0, at);
  }
  out.push_back(text);
  std::reverse(out.begin(), out.end());
  return listOfTexts(call, out);
}

Result<Value> splitlines(Call& call) {
  std::string_view text = call.on.str();
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("\n\r\v\f\x1c\x1d\x1e"), text.size());
    out.push_back(text.substr(0, end));
    const bool pair = text.substr(end, 2) == "\r\n";
    text = end == text.size() ? std::string_view() : text.substr(end + (pair ? 2 : 1));
  }
  return listOfTexts(call, out);
}

/// startswith, endswith: whether one text fits, or any text of a tuple.
template <bool AtStart>
Result<Value> borders(Call& call) {
  const auto fits = [&](const Value& v) {
    return v.is(Kind::Text) && (AtStart ? call.on.str().starts_with(v.str()) : call.on.str().ends_with(v.str()));
  };
  const Value& what = call.arg(0);
  if (what.is(Kind::List)) return Value::flag(std::any_of(what.list->begin(), what.list->end(), fits));
  if (!what.is(Kind::Text)) return call.bad("wants text, not " + typeName(what));
  return Value::flag(fits(what));
}

Result<Value> replaceText(Call& call) {
  const std::string from = KV_TRY(call.textArg(0)), to = KV_TRY(call.textArg(1));
  const std::int64_t most = KV_TRY(call.numberArg(2, -1));
  return replaced(call, call.on.str(), from, to, most);
}

Result<Value> find(Call& call) {
  const std::string what = KV_TRY(call.textArg(0));
  KV_TRY(call.run.spend(call.on.weight * 16));
  const auto at = call.on.str().find(what);
  if (at == std::string::npos) return Value::number(-1);
  return Value::number(static_cast<std::int64_t>(characters(std::string_view(call.on.str()).substr(0, at)).size()));
}

Result<Value> count(Call& call) {
  const std::string what = KV_TRY(call.textArg(0));
  if (what.empty()) return call.bad("gets an empty text");
  std::int64_t n = 0;
  for (auto at = call.on.str().find(what); at != std::string::npos; at = call.on.str().find(what, at + what.size()))
    ++n;
  return Value::number(n);
}

Result<Value> joinTexts(Call& call) {
  const List items = KV_TRY(call.run.members(call.arg(0)));
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::Text)) return call.bad("wants texts, not " + typeName(items[i]));
    out += (i ? call.on.str() : "") + items[i].str();
    if (out.size() > std::size_t{16} << 20) return call.bad("makes a text that is too long");
  }
  return call.run.text(std::move(out));
}

template <std::string (*Change)(std::string_view)>
Result<Value> changed(Call& call) {
  KV_TRY(call.run.spend(call.on.weight * 16));
  return call.run.text(Change(call.on.str()));
}

template <bool (*Holds)(std::string_view)>
Result<Value> holds(Call& call) {
  KV_TRY(call.run.spend(call.on.weight * 16));
  return Value::flag(Holds(call.on.str()));
}

template <bool AtStart>
Result<Value> removed(Call& call) {
  const std::string what = KV_TRY(call.textArg(0));
  std::string_view text = call.on.str();
  if (AtStart && text.starts_with(what)) text.remove_prefix(what.size());
  if (!AtStart && text.ends_with(what)) text.remove_suffix(what.size());
  return call.run.text(std::string(text));
}

}  // namespace

Result<Value> replaced(Call& call, std::string_view text, std::string_view from, std::string_view to,
                       std::int64_t most) {
  if (from.empty()) return call.bad("replaces an empty text");
  std::string out;
  for (auto at = text.find(from); at != text.npos && most != 0; at = text.find(from), --most) {
    out.append(text.substr(0, at)).append(to);
    if (out.size() > std::size_t{16} << 20) return call.bad("makes a text that is too long");
    text.remove_prefix(at + from.size());
  }
  out += text;
  return call.run.text(std::move(out));
}

const Callables& textMethods() {
  static const Callables kMethods{
      {"capitalize", {changed<capitalised>, {}}},
      {"count", {count, {"sub"}}},
      {"endswith", {borders<false>, {"suffix"}, 1}},
      {"find", {find, {"sub"}}},
      {"isalpha", {holds<allLetters>, {}}},
      {"isdigit", {holds<allDigits>, {}}},
      {"islower", {holds<isLower>, {}}},
      {"isspace", {holds<allBlank>, {}}},
      {"isupper", {holds<isUpper>, {}}},
      {"join", {joinTexts, {"iterable"}, 1}},
      {"lower", {changed<lowered>, {}}},
      {"lstrip", {[](Call& c) { return strip(c, true, false); }, {"chars"}}},
      {"removeprefix", {removed<true>, {"prefix"}}},
      {"removesuffix", {removed<false>, {"suffix"}}},
      {"replace", {replaceText, {"old", "new", "count"}}},
      {"rsplit", {rsplit, {"sep", "maxsplit"}}},
      {"rstrip", {[](Call& c) { return strip(c, false, true); }, {"chars"}}},
      {"split", {split, {"sep", "maxsplit"}}},
      {"splitlines", {splitlines, {}}},
      {"startswith", {borders<true>, {"prefix"}, 1}},
      {"strip", {[](Call& c) { return strip(c, true, true); }, {"chars"}}},
      {"title", {changed<titled>, {}}},
      {"upper", {changed<uppered>, {}}},
  };
  return kMethods;
}

}  // namespace kvlab::chat
