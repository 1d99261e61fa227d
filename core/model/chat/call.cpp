// SPDX-License-Identifier: Apache-2.0
// Code that filters, tests, methods and functions share, and the operators.
#include <algorithm>
#include <cmath>

#include "core/model/chat/interpreter.h"
#include "core/model/tokens/utf8.h"

namespace kvlab::chat {
namespace {

constexpr std::size_t kMostText = std::size_t{16} << 20;

std::int64_t floorDivided(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

Result<Value> whole(Interpreter& run, const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  bool over = false;
  if (op == "+") over = __builtin_add_overflow(a, b, &out);
  else if (op == "-") over = __builtin_sub_overflow(a, b, &out);
  else if (op == "*") over = __builtin_mul_overflow(a, b, &out);
  else if (op == "//" || op == "%") {
    if (b == 0) return run.bad("a division by 0");
    if (b == -1) over = op == "//" && __builtin_sub_overflow(std::int64_t{0}, a, &out);
    else out = op == "//" ? floorDivided(a, b) : a - b * floorDivided(a, b);
  } else {  // **
    out = 1;
    for (std::int64_t i = 0; i < b && !over && (i < 64 || (a > 1 || a < -1)); ++i)
      over = __builtin_mul_overflow(out, a, &out);
    if (b >= 64 && a == -1) out = b % 2 ? -1 : 1;
  }
  if (over) return run.bad("a number is larger than 64 bits");
  return Value::number(out);
}

Result<Value> real(Interpreter& run, const std::string& op, double a, double b) {
  if (op == "+") return Value::floating(a + b);
  if (op == "-") return Value::floating(a - b);
  if (op == "*") return Value::floating(a * b);
  if (op == "**") return Value::floating(std::pow(a, b));
  if (b == 0) return run.bad("a division by 0");
  if (op == "/") return Value::floating(a / b);
  if (op == "//") return Value::floating(std::floor(a / b));
  return Value::floating(a - b * std::floor(a / b));
}

Result<Value> repeated(Interpreter& run, const Value& what, std::int64_t times) {
  times = std::max<std::int64_t>(times, 0);
  const std::size_t size = what.is(Kind::Text) ? what.str().size() : what.list->size();
  if (static_cast<double>(size) * static_cast<double>(times) > static_cast<double>(kMostText) / 8)
    return run.bad("a repetition is too long");
  KV_TRY(run.spend(static_cast<std::int64_t>(size) * times / 16));
  if (what.is(Kind::Text)) {
    std::string out;
    for (std::int64_t i = 0; i < times; ++i) out += what.str();
    return run.text(std::move(out));
  }
  List out;
  KV_TRY(run.spend(8 * static_cast<std::int64_t>(size) * times));
  for (std::int64_t i = 0; i < times; ++i) out.insert(out.end(), what.list->begin(), what.list->end());
  return run.made(Value::listOf(std::move(out), what.tuple));
}

}  // namespace

Result<Value> arithmetic(Interpreter& run, const std::string& op, const Value& a, const Value& b) {
  if (op == "~") {
    KV_TRY(run.spend(a.weight + b.weight));
    return run.text(textOf(a) + textOf(b));
  }
  if (op == "+" && a.is(Kind::Text) && b.is(Kind::Text)) return run.text(a.str() + b.str());
  if (op == "+" && a.is(Kind::List) && b.is(Kind::List) && a.tuple == b.tuple) {
    KV_TRY(run.spend(2 * static_cast<std::int64_t>(a.list->size() + b.list->size())));
    List out = *a.list;
    out.insert(out.end(), b.list->begin(), b.list->end());
    return run.made(Value::listOf(std::move(out), a.tuple));
  }
  const auto repeats = [](const Value& v) { return v.is(Kind::Text) || v.is(Kind::List); };
  const auto counts = [](const Value& v) { return v.is(Kind::Int) || v.is(Kind::Bool); };
  if (op == "*" && repeats(a) && counts(b)) return repeated(run, a, b.integer);
  if (op == "*" && repeats(b) && counts(a)) return repeated(run, b, a.integer);
  if (op == "%" && a.is(Kind::Text)) return run.bad("formatting with % is not implemented");
  for (const Value* v : {&a, &b})
    if (v->is(Kind::Undefined)) return run.bad("\"" + v->str() + "\" is undefined");
  if (!a.isNumber() || !b.isNumber())
    return run.bad("\"" + op + "\" does not go with " + typeName(a) + " and " + typeName(b));
  if (counts(a) && counts(b) && op != "/" && (op != "**" || b.integer >= 0))
    return whole(run, op, a.integer, b.integer);
  return real(run, op, a.asReal(), b.asReal());
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = static_cast<std::size_t>(std::max(codePointAt(text, at).length, 1));
    out.push_back(text.substr(at, length));
    at += length;
  }
  return out;
}

Result<Value> apply(const Callable& callable, Call call) {
  if (!callable.parameters.empty() && callable.parameters.front() == std::string_view("*"))
    return callable.function(call);
  call.args.assign(callable.parameters.size(), nullptr);
  if (call.placed.size() > callable.parameters.size()) return call.bad("gets too many arguments");
  for (std::size_t i = 0; i < call.placed.size(); ++i) call.args[i] = &call.placed[i];
  for (const auto& [key, value] : call.named) {
    const auto& all = callable.parameters;
    const auto place = std::find(all.begin(), all.end(), key) - all.begin();
    if (static_cast<std::size_t>(place) == all.size())
      return call.bad("has no argument \"" + key + "\" that is implemented");
    call.args[static_cast<std::size_t>(place)] = &value;
  }
  KV_TRY(call.run.spend(2));
  for (std::size_t i = 0; i < callable.needed; ++i)
    if (!call.has(i)) return call.bad("lacks an argument");
  return callable.function(call);
}

Result<std::string> Call::onText() const {
  KV_TRY(run.spend(on.weight));
  return textOf(on);
}

Result<std::string> Call::textArg(std::size_t i, std::optional<std::string> otherwise) const {
  if (!has(i) || arg(i).is(Kind::None)) {
    if (!otherwise) return bad("lacks an argument");
    return *otherwise;
  }
  if (!arg(i).is(Kind::Text)) return bad("wants text, not " + typeName(arg(i)));
  return arg(i).str();
}

Result<std::int64_t> Call::numberArg(std::size_t i, std::optional<std::int64_t> otherwise) const {
  if (!has(i) || arg(i).is(Kind::None)) {
    if (!otherwise) return bad("lacks an argument");
    return *otherwise;
  }
  if (!arg(i).is(Kind::Int) && !arg(i).is(Kind::Bool)) return bad("wants a whole number, not " + typeName(arg(i)));
  return arg(i).integer;
}

const Callable* methodOf(const Value& on, std::string_view name) {
  const Callables* table = on.is(Kind::Text) ? &textMethods() : on.is(Kind::List) ? &listMethods() : nullptr;
  if (on.is(Kind::Dict)) table = &dictMethods();
  if (!table) return nullptr;
  const auto it = table->find(name);
  return it == table->end() ? nullptr : &it->second;
}

}  // namespace kvlab::chat
