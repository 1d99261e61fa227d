// SPDX-License-Identifier: Apache-2.0
// The tests of a chat template: names that may stand behind "is".
#include "core/model/chat/interpreter.h"
#include "core/model/chat/letters.h"

namespace kvlab::chat {
namespace {

template <Kind... Kinds>
Result<Value> isOne(Call& call) {
  return Value::flag(((call.on.kind == Kinds) || ...));
}

Result<Value> compared(Call& call, bool (*holds)(bool below, bool above)) {
  KV_TRY(call.run.spend(std::min(call.on.weight, call.arg(0).weight)));
  const auto below = less(call.on, call.arg(0)), above = less(call.arg(0), call.on);
  if (!below || !above) return call.bad("cannot compare " + typeName(call.on) + " and " + typeName(call.arg(0)));
  return Value::flag(holds(*below, *above));
}

Result<Value> same(Call& call) {
  KV_TRY(call.run.spend(std::min(call.on.weight, call.arg(0).weight)));
  return Value::flag(equal(call.on, call.arg(0)));
}
Result<Value> other(Call& call) {
  const Value is = KV_TRY(same(call));
  return Value::flag(!is.truth());
}

Result<Value> isIn(Call& call) { return Value::flag(KV_TRY(call.run.contains(call.arg(0), call.on))); }

Result<Value> remainder(Call& call, std::int64_t by, std::int64_t wanted) {
  if (!call.on.is(Kind::Int) && !call.on.is(Kind::Bool))
    return call.bad("wants a whole number, not " + typeName(call.on));
  if (by == 0) return call.bad("divides by 0");
  return Value::flag(by == -1 || (call.on.integer % by != 0) == (wanted != 0));
}

template <bool (*Holds)(std::string_view)>
Result<Value> textIs(Call& call) {
  const std::string text = KV_TRY(call.onText());
  KV_TRY(call.run.spend(static_cast<std::int64_t>(text.size())));
  return Value::flag(Holds(text));
}

Result<Value> defined(Call& call) { return Value::flag(!call.on.is(Kind::Undefined)); }
Result<Value> isTrue(Call& call) { return Value::flag(call.on.is(Kind::Bool) && call.on.integer == 1); }
Result<Value> isFalse(Call& call) { return Value::flag(call.on.is(Kind::Bool) && call.on.integer == 0); }
Result<Value> divisible(Call& call) { return remainder(call, KV_TRY(call.numberArg(0)), 0); }

}  // namespace

const Callables& tests() {
  static const Callable equals{same, {"other"}, 1}, differs{other, {"other"}, 1};
  static const Callable below{[](Call& c) { return compared(c, [](bool b, bool) { return b; }); }, {"other"}, 1};
  static const Callable above{[](Call& c) { return compared(c, [](bool, bool a) { return a; }); }, {"other"}, 1};
  static const Callable atMost{[](Call& c) { return compared(c, [](bool, bool a) { return !a; }); }, {"other"}, 1};
  static const Callable atLeast{[](Call& c) { return compared(c, [](bool b, bool) { return !b; }); }, {"other"}, 1};
  static const Callables kTests{
      {"!=", differs},
      {"<", below},
      {"<=", atMost},
      {"==", equals},
      {">", above},
      {">=", atLeast},
      {"boolean", {isOne<Kind::Bool>, {}}},
      {"callable", {isOne<Kind::Macro, Kind::Function>, {}}},
      {"defined", {defined, {}}},
      {"divisibleby", {divisible, {"num"}}},
      {"eq", equals},
      {"equalto", equals},
      {"even", {[](Call& c) { return remainder(c, 2, 0); }, {}}},
      {"false", {isFalse, {}}},
      {"float", {isOne<Kind::Float>, {}}},
      {"ge", atLeast},
      {"greaterthan", above},
      {"gt", above},
      {"in", {isIn, {"seq"}, 1}},
      {"integer", {isOne<Kind::Int>, {}}},
      {"iterable", {isOne<Kind::Text, Kind::List, Kind::Dict, Kind::Undefined>, {}}},
      {"le", atMost},
      {"lessthan", below},
      {"lower", {textIs<isLower>, {}}},
      {"lt", below},
      {"mapping", {isOne<Kind::Dict>, {}}},
      {"ne", differs},
      {"none", {isOne<Kind::None>, {}}},
      {"number", {isOne<Kind::Int, Kind::Float, Kind::Bool>, {}}},
      {"odd", {[](Call& c) { return remainder(c, 2, 1); }, {}}},
      {"sequence", {isOne<Kind::Text, Kind::List, Kind::Dict, Kind::Undefined>, {}}},
      {"string", {isOne<Kind::Text>, {}}},
      {"true", {isTrue, {}}},
      {"undefined", {isOne<Kind::Undefined>, {}}},
      {"upper", {textIs<isUpper>, {}}},
  };
  return kTests;
}

}  // namespace kvlab::chat
