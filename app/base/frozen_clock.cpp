// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/frozen_clock.h"

#include <QRegularExpression>
#include <set>

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

/// "about 12 us" and "about 15 us" become the same.
std::string withoutTimes(const std::string& text) {
  static const QRegularExpression kTime("[0-9.]+ us");
  return QString::fromStdString(text).replace(kTime, "0 us").toStdString();
}

}  // namespace

void stopTimes(nlohmann::json& value) {
  static const std::set<std::string> kTimes{"us",    "program", "start_us",      "ms",
                                            "rowUs", "pairUs",  "incrementalUs", "fullUs"};
  if (!value.is_structured()) return;
  if (value.is_object()) value.erase("advice");  // times decide about it
  for (auto at = value.begin(); at != value.end(); ++at)
    if (value.is_object() && at->is_number() && kTimes.count(at.key())) *at = 0;
    else if (value.is_object() && at->is_string() && at.key() == "reason") *at = withoutTimes(at->get<std::string>());
    else stopTimes(*at);
}

SnapshotPtr withoutTimes(const SnapshotPtr& snapshot) {
  if (!snapshot) return nullptr;
  auto copy = std::make_shared<Snapshot>(*snapshot);
  replace(copy->report, [](TickReport& report) { stop(report); });
  replace(copy->policies, [](PolicyAudit& audit) { audit.us = 0; });
  replace(copy->lanes, [](LanesView& lanes) { stop(lanes); });
  replace(copy->wlod, [](WlodView& wlod) {
    replace(wlod.change, [](WlodChange& change) {
      change.us = change.incrementalUs = change.fullUs = 0;
      change.reason = withoutTimes(change.reason);
    });
  });
  return copy;
}

}  // namespace kvlab
