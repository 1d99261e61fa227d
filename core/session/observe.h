// SPDX-License-Identifier: Apache-2.0
// A session as expressions see it (core/watch/expression.h). Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// [length] how the rows of the last layer stand to a rebuild.
std::vector<Exactness> lastLayerExactness(const Session& session);
/// The same of another state of the session.
std::vector<Exactness> lastLayerExactness(const Session& session, const CacheState& state);
/// The present state with what the needs ask for. A drift that cannot be measured is not known.
SightState observeNow(Session& session, const std::function<bool(Need)>& needs);
/// The present state with what the needs ask for of the state before a commit, which comes next.
SightState observeBefore(Session& session, const std::function<bool(Need)>& needs);
/// The present state, and the state and the report that led here if the former is kept, with what the needs ask for.
/// Attention that the tick did not return, and the drift before it, are those of the commands executed again.
Sight sightNow(Session& session, const std::function<bool(Need)>& needs);
/// The value of an expression now. Facts of a tick, and before(..), refer to the commit that led here, if the state
/// before is kept; else they are not known.
WatchValue valueNow(Session& session, const Expression& expression);
/// Error bad_condition if the expression names something that the session does not have.
Status fits(const Session& session, const Expression& expression);
/// Reads an expression and sees whether it fits the session. Errors: bad_condition.
Result<Expression> readExpression(const Session& session, const std::string& text, bool condition);

}  // namespace kvlab
