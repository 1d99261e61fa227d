// SPDX-License-Identifier: Apache-2.0
// A session as expressions see it (core/watch/expression.h). Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// [length] the exactness of the last layer's rows, compared with a rebuild.
std::vector<Exactness> lastLayerExactness(const Session& session);
/// The same of another state of the session.
std::vector<Exactness> lastLayerExactness(const Session& session, const CacheState& state);
/// The present state with the measurements that `needs` asks for. A drift that cannot be measured is unknown.
SightState observeNow(Session& session, const std::function<bool(Need)>& needs);
/// The present state before a commit, with the measurements that `needs` asks for of the state before.
SightState observeBefore(Session& session, const std::function<bool(Need)>& needs);
/// The present state with the measurements that `needs` asks for, and the state before with the report that led here,
/// if that state is kept. Attention that the tick did not return, and the drift before it, are those of the commands
/// executed again.
Sight sightNow(Session& session, const std::function<bool(Need)>& needs);
/// The value of an expression now. Facts of a tick, and before(..), refer to the commit that led here, if the state
/// before is kept; else they are not known.
WatchValue valueNow(Session& session, const Expression& expression);
/// Error bad_condition if the expression names something that the session does not have.
Status fits(const Session& session, const Expression& expression);
/// Reads an expression and sees whether it fits the session. Errors: bad_condition.
Result<Expression> readExpression(const Session& session, const std::string& text, bool condition);

}  // namespace kvlab
