// SPDX-License-Identifier: Apache-2.0
// Input: an expression. An accepted expression has a value of its type in every state, also where nothing is known.
#include "core/watch/expression.h"

#include "fuzz.h"

using namespace kvlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text(data, size));
  const Result<Expression> read = Expression::parse(text);
  const Result<Expression> condition = Expression::condition(text);
  if (!read) {
    fuzz::checkError(read.error());
    fuzz::require(!condition, "a condition that is no expression");
    return 0;
  }
  const CacheState empty;
  const TickReport report;
  Sight at;
  at.now.state = at.before.state = &empty;
  at.report = &report;
  static constexpr std::array kIndex = {ValueType::Number, ValueType::Flag, ValueType::Text};
  fuzz::require(kIndex[read->value(at).index()] == read->type(), "a value of another type");
  if (condition) fuzz::require(condition->holds(at) == condition->holds(at), "two answers");
  else fuzz::checkError(condition.error());
  if (const Status fits = read->fits(4, 64); !fits) fuzz::checkError(fits.error());
  return 0;
}
