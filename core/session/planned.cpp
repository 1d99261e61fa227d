// SPDX-License-Identifier: Apache-2.0
#include "core/session/planned.h"

#include "core/session/requests.h"

namespace kvlab {
namespace {

/// Positions before the edit of survivors behind the first change.
std::vector<PositionRun> behind(const EditPlan& plan) {
  std::vector<PositionRun> out;
  std::int32_t at = 0;
  for (const Run& run : plan.runs) {
    const std::int32_t skip = std::clamp(plan.firstChange - at, 0, run.count);
    if (!run.fresh && skip < run.count) out.push_back({run.begin + skip, run.begin + run.count});
    at += run.count;
  }
  return out;
}

std::int64_t bytesOfRow(const Session& session) {
  std::int64_t row = 0;
  for (const CacheLayer layer : session.store().layers()) row += session.store().pool(layer).stride();
  return row;
}

}  // namespace

PlanView planView(const Session& session, const EditPlan& plan) {
  PlanView out;
  const bool derived = session.state().kind->derivesContext();
  const bool again = derived || session.manifest().afterEdit == AfterEdit::Recompute;
  out.edits = plan.details;
  out.evictions = plan.evictions;
  out.lengthBefore = plan.lengthBefore;
  out.lengthAfter = plan.lengthAfter;
  out.newRows = static_cast<std::int32_t>(plan.rows.size());
  out.phaseShifted = plan.phaseShifted;
  (again ? out.recomputed : out.staleRows) = plan.stale;
  if (!again) out.stale = behind(plan);
  out.bytes = (std::int64_t{out.newRows} + (derived ? plan.stale : 0)) * bytesOfRow(session);
  return out;
}

std::shared_ptr<const PlanView> pendingPlan(const Session& session) {
  if (session.pending().empty()) return nullptr;
  const Result<EditPlan> planned = plan(session, {});
  auto out = std::make_shared<PlanView>();
  if (planned) *out = planView(session, *planned);
  else out->refused = planned.error();
  return out;
}

}  // namespace kvlab
