// SPDX-License-Identifier: Apache-2.0
// Functions that a chat template may call, and the methods of lists and dicts.
#include <algorithm>

#include "core/model/chat/interpreter.h"

namespace kvlab::chat {
namespace {

constexpr std::int64_t kMostRange = 100'000;  // as Jinja's sandbox has it

Result<Value> raise(Call& call) {
  const std::string why = call.has(0) ? textOf(call.arg(0)) : std::string();
  return Error("bad_messages", "the chat template refuses the messages",
               "line " + std::to_string(call.run.line()) + ": " + why.substr(0, 1000),
               "give messages whose roles and order the template takes");
}

Result<Value> clock(Call& call) {
  const std::string format = KV_TRY(call.textArg(0));
  if (format.size() > 256 || format.find('\0') != std::string::npos) return call.bad("gets a format that is too long");
  const std::time_t now = call.run.now();
  std::tm parts{};
  localtime_r(&now, &parts);
  char buffer[4096];
  const std::size_t size = format.empty() ? 0 : std::strftime(buffer, sizeof buffer, format.c_str(), &parts);
  return call.run.text(std::string(buffer, size));
}

/// namespace(a=1), dict(a=1), and the same from a dict.
Result<Value> entries(Call& call, Kind kind) {
  if (call.placed.size() > 1 || (!call.placed.empty() && !call.placed[0].is(Kind::Dict)))
    return call.bad("takes names with values, or one dict");
  Dict out = call.placed.empty() ? Dict() : *call.placed[0].dict;
  for (auto& [key, value] : call.named) {
    if (value.is(Kind::Namespace)) return call.bad("cannot hold a namespace");
    setEntry(out, key, std::move(value));
  }
  KV_TRY(call.run.spend(8 * static_cast<std::int64_t>(out.size())));
  return call.run.made(Value::dictOf(std::move(out), kind));
}

Result<Value> range(Call& call) {
  const bool one = !call.has(1);
  const std::int64_t first = one ? 0 : KV_TRY(call.numberArg(0)), stop = KV_TRY(call.numberArg(one ? 0 : 1));
  const std::int64_t step = KV_TRY(call.numberArg(2, 1));
  if (step == 0) return call.bad("has the step 0");
  const double span = (static_cast<double>(stop) - static_cast<double>(first)) / static_cast<double>(step);
  if (span > static_cast<double>(kMostRange)) return call.bad("is longer than " + std::to_string(kMostRange));
  List out;
  std::int64_t width = 0;
  if (span > 0 && __builtin_sub_overflow(stop, first, &width)) return call.bad("is too wide");
  const std::int64_t count = span <= 0 ? 0 : width / step + (width % step != 0 ? 1 : 0);
  for (std::int64_t i = 0; i < count; ++i) out.push_back(Value::number(first + i * step));
  return call.run.made(Value::listOf(std::move(out)));
}

Result<Value> items(Call& call) {
  List out;
  for (const auto& [key, value] : *call.on.dict) out.push_back(Value::listOf({Value::string(key), value}, true));
  KV_TRY(call.run.spend(16 * static_cast<std::int64_t>(out.size())));
  return call.run.made(Value::listOf(std::move(out)));
}

Result<Value> column(Call& call, bool keys) {
  List out;
  for (const auto& [key, value] : *call.on.dict) out.push_back(keys ? Value::string(key) : value);
  return call.run.made(Value::listOf(std::move(out)));
}

Result<Value> get(Call& call) {
  const Value* found = call.arg(0).is(Kind::Text) ? call.on.entry(call.arg(0).str()) : nullptr;
  if (found) return *found;
  return call.has(1) ? call.arg(1) : Value::none();
}

Result<Value> place(Call& call) {
  KV_TRY(call.run.spend(call.on.weight));
  const auto it =
      std::find_if(call.on.list->begin(), call.on.list->end(), [&](const Value& v) { return equal(v, call.arg(0)); });
  if (it == call.on.list->end()) return call.bad("does not find the value");
  return Value::number(it - call.on.list->begin());
}

Result<Value> occurrences(Call& call) {
  KV_TRY(call.run.spend(call.on.weight));
  return Value::number(
      std::count_if(call.on.list->begin(), call.on.list->end(), [&](const Value& v) { return equal(v, call.arg(0)); }));
}

}  // namespace

const Callables& functions() {
  static const Callables kFunctions{
      {"dict", {[](Call& c) { return entries(c, Kind::Dict); }, {"*"}}},
      {"namespace", {[](Call& c) { return entries(c, Kind::Namespace); }, {"*"}}},
      {"raise_exception", {raise, {"message"}}},
      {"range", {range, {"start", "stop", "step"}}},
      {"strftime_now", {clock, {"format"}}},
  };
  return kFunctions;
}

const Callables& dictMethods() {
  static const Callables kMethods{
      {"get", {get, {"key", "default"}, 1}},
      {"items", {items, {}}},
      {"keys", {[](Call& c) { return column(c, true); }, {}}},
      {"values", {[](Call& c) { return column(c, false); }, {}}},
  };
  return kMethods;
}

const Callables& listMethods() {
  static const Callables kMethods{{"count", {occurrences, {"value"}, 1}}, {"index", {place, {"value"}, 1}}};
  return kMethods;
}

}  // namespace kvlab::chat
