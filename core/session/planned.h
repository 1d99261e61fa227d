// SPDX-License-Identifier: Apache-2.0
// Plans as readers see them. Engine thread.
#pragma once
#include "core/edit/edit_plan.h"
#include "core/session/session.h"

namespace kvlab {

PlanView planView(const Session& session, const EditPlan& plan);
/// Effect that the pending actions would have on the present state; null where nothing is pending.
std::shared_ptr<const PlanView> pendingPlan(const Session& session);

}  // namespace kvlab
