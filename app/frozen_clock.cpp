// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/frozen_clock.h"

#include "core/api/lanes_view.h"
#include "core/api/policy_audit.h"
#include "core/api/wlod_view.h"

namespace kvlab {
namespace {

/// A changed copy of a shared value; null stays null.
template <class Value, class Change>
void replace(std::shared_ptr<const Value>& shared, Change change) {
  if (!shared) return;
  auto copy = std::make_shared<Value>(*shared);
  change(*copy);
  shared = std::move(copy);
}

void stop(TickReport& report) {
  for (Event& event : report.events) event.startUs = event.us = 0;
}

void stop(LanesView& lanes) {
  for (LaneView& lane : lanes.lanes) {
    lane.now.us = 0;
    lane.us.mean = lane.us.last = lane.us.median = lane.us.p99 = 0;
    lane.snapshot = withoutTimes(lane.snapshot);
  }
}

}  // namespace

SnapshotPtr withoutTimes(const SnapshotPtr& snapshot) {
  if (!snapshot) return nullptr;
  auto copy = std::make_shared<Snapshot>(*snapshot);
  replace(copy->report, [](TickReport& report) { stop(report); });
  replace(copy->policies, [](PolicyAudit& audit) { audit.us = 0; });
  replace(copy->lanes, [](LanesView& lanes) { stop(lanes); });
  replace(copy->wlod, [](WlodView& wlod) { replace(wlod.change, [](WlodChange& change) { change.us = 0; }); });
  return copy;
}

}  // namespace kvlab
