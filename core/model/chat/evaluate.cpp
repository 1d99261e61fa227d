// SPDX-License-Identifier: Apache-2.0
// Expressions.
#include <algorithm>

#include "core/model/chat/interpreter.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::chat {

Result<Value> Interpreter::value(const Expression& e) {
  const Nesting nesting(m_deep);
  m_line = e.line;
  if (m_deep > kMostDeep) return bad("expressions and macros stand too deep inside each other");
  KV_TRY(spend(1));
  switch (e.form) {
    case Form::Literal: return e.value;
    case Form::Name: return named(e);
    case Form::Attribute: {
      const Value on = KV_TRY(value(*e.parts[0]));
      return attribute(on, e.name);
    }
    case Form::Item: {
      const Value on = KV_TRY(value(*e.parts[0]));
      const Value key = KV_TRY(value(*e.parts[1]));
      return item(on, key);
    }
    case Form::Slice: return slice(e);
    case Form::Call: return call(e);
    case Form::Filter:
    case Form::Test: return filtered(e);
    case Form::Sequence: return sequence(e);
    case Form::Mapping: return mapping(e);
    case Form::Unary: return unary(e);
    case Form::Binary: return binary(e);
    case Form::Chain: return chain(e);
    case Form::Choice: break;
  }
  const Value condition = KV_TRY(value(*e.parts[1]));
  if (condition.truth()) return value(*e.parts[0]);
  return e.parts[2] ? value(*e.parts[2]) : Value::undefined("the value of an if without an else");
}

Result<Value> Interpreter::named(const Expression& e) {
  if (const Value* found = find(e.name)) return *found;
  if (functions().contains(e.name)) return Value::function(e.name);
  return Value::undefined(e.name);
}

/// a.b: a method, or the entry of that name.
Result<Value> Interpreter::attribute(const Value& on, const std::string& name) {
  if (on.is(Kind::Undefined)) return bad("\"" + on.str() + "\" is undefined and has no \"" + name + "\"");
  KV_TRY(spend(on.dict ? static_cast<std::int64_t>(on.dict->size() / 8) : 1));
  if (methodOf(on, name)) return Value::function(name);
  const Value* entry = on.entry(name);
  return entry ? *entry : Value::undefined(name);
}

Result<Value> Interpreter::item(const Value& on, const Value& key) {
  if (on.is(Kind::Undefined)) return bad("\"" + on.str() + "\" is undefined and has no items");
  if (key.is(Kind::Text)) {
    const Value* entry = on.entry(key.str());
    if (entry) return *entry;
    return methodOf(on, key.str()) ? Value::function(key.str()) : Value::undefined(key.str());
  }
  if ((!on.is(Kind::List) && !on.is(Kind::Text)) || (!key.is(Kind::Int) && !key.is(Kind::Bool)))
    return Value::undefined("item " + textOf(key));
  const List all = on.is(Kind::Text) ? KV_TRY(members(on)) : List();
  const List& items = on.is(Kind::Text) ? all : *on.list;
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t place = key.integer < 0 ? key.integer + size : key.integer;
  if (place < 0 || place >= size) return Value::undefined("item " + std::to_string(key.integer));
  return items[static_cast<std::size_t>(place)];
}

Result<Value> Interpreter::slice(const Expression& e) {
  const Value on = KV_TRY(value(*e.parts[0]));
  std::optional<std::int64_t> bound[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (!e.parts[i + 1]) continue;
    const Value v = KV_TRY(value(*e.parts[i + 1]));
    if (v.is(Kind::None)) continue;
    if (!v.is(Kind::Int) && !v.is(Kind::Bool)) return bad("a slice has a bound of type " + typeName(v));
    bound[i] = v.integer;
  }
  if (!on.is(Kind::List) && !on.is(Kind::Text)) return bad("no slices of type " + typeName(on));
  const List items = KV_TRY(members(on));
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t step = std::clamp<std::int64_t>(bound[2].value_or(1), -size - 1, size + 1);
  if (bound[2] == 0) return bad("a slice has the step 0");
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto clipped = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? (*given < -size ? low : *given + size) : *given, low, high);
  };
  const std::int64_t first = clipped(bound[0], step < 0 ? high : low), stop = clipped(bound[1], step < 0 ? low : high);
  List out;
  for (std::int64_t i = first; step < 0 ? i > stop : i < stop; i += step)
    out.push_back(items[static_cast<std::size_t>(i)]);
  if (on.is(Kind::List)) return made(Value::listOf(std::move(out), on.tuple));
  std::string joined;
  for (const Value& c : out) joined += c.str();
  return text(std::move(joined));
}

Result<Value> Interpreter::sequence(const Expression& e) {
  List items;
  for (const auto& part : e.parts) {
    items.push_back(KV_TRY(value(*part)));
    if (items.back().is(Kind::Namespace)) return bad("a namespace inside a list is not implemented");
  }
  return made(Value::listOf(std::move(items), e.name == "tuple"));
}

Result<Value> Interpreter::mapping(const Expression& e) {
  Dict entries;
  for (std::size_t i = 0; i + 1 < e.parts.size(); i += 2) {
    const Value key = KV_TRY(value(*e.parts[i]));
    Value item = KV_TRY(value(*e.parts[i + 1]));
    if (!key.is(Kind::Text)) return bad("keys of type " + typeName(key) + " are not implemented");
    if (item.is(Kind::Namespace)) return bad("a namespace inside a dict is not implemented");
    setEntry(entries, key.str(), std::move(item));
    KV_TRY(spend(static_cast<std::int64_t>(entries.size())));
  }
  return made(Value::dictOf(std::move(entries)));
}

Result<Value> Interpreter::unary(const Expression& e) {
  const Value v = KV_TRY(value(*e.parts[0]));
  if (e.name == "not") return Value::flag(!v.truth());
  if (!v.isNumber()) return bad("no sign before type " + typeName(v));
  if (e.name == "+") return v.is(Kind::Float) ? v : Value::number(v.integer);
  return arithmetic(*this, "-", Value::number(0), v);
}

Result<Value> Interpreter::binary(const Expression& e) {
  Value a = KV_TRY(value(*e.parts[0]));
  if (e.name == "and" || e.name == "or") {
    if (a.truth() == (e.name == "or")) return a;
    return value(*e.parts[1]);
  }
  const Value b = KV_TRY(value(*e.parts[1]));
  m_line = e.line;
  return arithmetic(*this, e.name, a, b);
}

Result<Value> Interpreter::chain(const Expression& e) {
  Value left = KV_TRY(value(*e.parts[0]));
  for (std::size_t i = 0; i < e.named.size(); ++i) {
    Value right = KV_TRY(value(*e.parts[i + 1]));
    m_line = e.line;
    const bool holds = KV_TRY(compare(e.named[i].first, left, right));
    if (!holds) return Value::flag(false);
    left = std::move(right);
  }
  return Value::flag(true);
}

Result<bool> Interpreter::compare(const std::string& op, const Value& a, const Value& b) {
  KV_TRY(spend(std::min(a.weight, b.weight)));
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "in") return contains(b, a);
  if (op == "not in") return !KV_TRY(contains(b, a));
  const bool swapped = op == ">" || op == "<=";
  const auto order = swapped ? less(b, a) : less(a, b);
  if (!order) return bad("\"" + op + "\" does not compare " + typeName(a) + " and " + typeName(b));
  if (a.isNumber() && b.isNumber() && (a.asReal() != a.asReal() || b.asReal() != b.asReal())) return false;
  return op.size() == 1 ? *order : !*order;
}

Result<bool> Interpreter::contains(const Value& whole, const Value& part) {
  KV_TRY(spend(whole.weight));
  if (whole.is(Kind::Text)) {
    if (!part.is(Kind::Text)) return bad("\"in\" a text looks for a text, not for " + typeName(part));
    return whole.str().find(part.str()) != std::string::npos;
  }
  if (whole.is(Kind::Dict)) return part.is(Kind::Text) && whole.entry(part.str());
  if (whole.is(Kind::Undefined)) return false;
  if (!whole.is(Kind::List)) return bad("nothing can be \"in\" type " + typeName(whole));
  KV_TRY(spend(std::min(whole.weight, part.weight * static_cast<std::int64_t>(whole.list->size()))));
  return std::any_of(whole.list->begin(), whole.list->end(), [&](const Value& v) { return equal(v, part); });
}

Result<List> Interpreter::members(const Value& whole) {
  List out;
  switch (whole.kind) {
    case Kind::Undefined: break;
    case Kind::List: out = *whole.list; break;
    case Kind::Text:
      for (const std::string_view c : characters(whole.str())) out.push_back(Value::string(std::string(c)));
      break;
    case Kind::Dict:
      for (const auto& [key, value] : *whole.dict) out.push_back(Value::string(key));
      break;
    default: return bad("type " + typeName(whole) + " has no members to go through");
  }
  KV_TRY(spend((whole.is(Kind::Text) ? 8 : 2) * static_cast<std::int64_t>(out.size() + 1)));
  return out;
}

Result<Interpreter::Arguments> Interpreter::arguments(const Expression& e) {
  Arguments out;
  for (std::size_t i = 1; i < e.parts.size(); ++i) out.placed.push_back(KV_TRY(value(*e.parts[i])));
  for (const auto& [key, part] : e.named) out.named.emplace_back(key, KV_TRY(value(*part)));
  m_line = e.line;
  return out;
}

Result<Value> Interpreter::call(const Expression& e) {
  const Expression& callee = *e.parts[0];
  if (callee.form == Form::Attribute) {
    const Value on = KV_TRY(value(*callee.parts[0]));
    if (const Callable* method = methodOf(on, callee.name)) {
      auto given = KV_TRY(arguments(e));
      return apply(*method, {*this, callee.name, on, std::move(given.placed), std::move(given.named)});
    }
    if (on.is(Kind::Undefined)) return bad("\"" + on.str() + "\" is undefined and has no \"" + callee.name + "\"");
    if (!on.entry(callee.name))
      return bad("type " + typeName(on) + " has no method \"" + callee.name + "\" that is implemented");
  }
  const Value target = KV_TRY(value(callee));
  auto given = KV_TRY(arguments(e));
  if (target.is(Kind::Macro)) return callMacro(*target.macro, std::move(given));
  const auto function = target.is(Kind::Function) ? functions().find(target.str()) : functions().end();
  if (function == functions().end())
    return bad((target.is(Kind::Undefined) ? "the function \"" + target.str() + "\" is not implemented"
                                           : "type " + typeName(target) + " cannot be called"));
  return apply(function->second, {*this, function->first, Value(), std::move(given.placed), std::move(given.named)});
}

Result<Value> Interpreter::filtered(const Expression& e) {
  const bool isTest = e.form == Form::Test;
  const Callables& table = isTest ? tests() : filters();
  const auto found = table.find(e.name);
  if (found == table.end())
    return bad(std::string("the ") + (isTest ? "test" : "filter") + " \"" + e.name + "\" is not implemented");
  const Value on = KV_TRY(value(*e.parts[0]));
  auto given = KV_TRY(arguments(e));
  return apply(found->second, {*this, e.name, on, std::move(given.placed), std::move(given.named)});
}

}  // namespace kvlab::chat
