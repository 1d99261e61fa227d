// SPDX-License-Identifier: Apache-2.0
#include "core/session/open_tick.h"

#include <algorithm>

#include "core/edit/splice.h"

namespace kvlab {
namespace {

std::vector<LedgerId> contextWith(const Column<LedgerId>& before, std::vector<PlannedAction> edits) {
  std::stable_sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.anchor < b.anchor; });
  std::vector<bool> removed(before.size());
  for (const PlannedAction& edit : edits)
    for (const Position position : edit.removed) removed[at(position.value())] = true;
  std::vector<LedgerId> out;
  auto edit = edits.begin();
  for (std::size_t i = 0; i <= before.size(); ++i) {
    for (; edit != edits.end() && (at(edit->anchor.value()) <= i || i == before.size()); ++edit)
      out.insert(out.end(), edit->newLedger.begin(), edit->newLedger.end());
    if (i < before.size() && !removed[i]) out.push_back(before[i]);
  }
  return out;
}

std::string_view nextOf(const OpenTick& tick) {
  switch (tick.stage) {
    case Stage::Generate: return name(Stage::Observe);
    case Stage::Observe: return name(Stage::Plan);
    case Stage::Token: return name(Stage::Generate);
    case Stage::Apply: return "verify";
    case Stage::Plan:
    case Stage::OneAction: break;
  }
  if (tick.shown + 1 < static_cast<std::int32_t>(tick.edits.size())) return name(Stage::OneAction);
  return name(tick.ticker.settles() ? Stage::Apply : Stage::Token);
}

}  // namespace

std::vector<PlannedAction> editsOf(EditPlan plan, Executor executor) {
  if (executor == Executor::Descending) std::reverse(plan.details.begin(), plan.details.end() - plan.adds);
  return std::move(plan.details);
}

std::optional<CacheState> previewOf(const EditPlan& plan, const CacheState& before, const SessionParts& parts) {
  if (before.kind->derivesContext()) return std::nullopt;
  const LayerSlots none(before.groupOf.size(), std::vector<Slot>(plan.rows.size(), Slot(-1)));
  CacheState out = splice(before, plan, none, transactionRules(parts).splice).state;
  for (LayerGroup& group : out.groups) group.provenance.append(std::vector<Provenance>(plan.rows.size()));
  return out;
}

StageView viewOf(const OpenTick& tick, const CacheState& state) {
  StageView out;
  out.stage = tick.stage;
  out.next = nextOf(tick);
  out.tokens = tick.report.block;
  out.actions = tick.report.actions;
  const bool planned = tick.stage == Stage::Plan || tick.stage == Stage::OneAction;
  out.shown = planned ? tick.shown : 0;
  out.of = planned ? static_cast<std::int32_t>(tick.edits.size()) : 0;
  const CacheState& base = tick.committed ? state : tick.ticker.observed();
  out.context = contextWith(base.context, {tick.edits.begin(), tick.edits.begin() + out.shown});
  return out;
}

}  // namespace kvlab
