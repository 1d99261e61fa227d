// SPDX-License-Identifier: Apache-2.0
// Reads an expression: text to a tree whose types fit. Pure; any thread.
#pragma once
#include "core/watch/expression.h"

namespace kvlab {

/// Error bad_condition names the character and what could stand there.
Result<Term> parseTerm(const std::string& text, std::span<const CellName> cells = {});
/// A number that can be a flag becomes one. Error if the term is no condition.
Result<Term> asCondition(Term term, const std::string& text);
/// True if it says nothing of a state without the tick that led to it.
bool asksOfTick(const Term& term);
Error badExpression(const std::string& text, const std::string& why, std::size_t place);

}  // namespace kvlab
