// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/events/trace_export.h"

#include "widgets/base/event_tree.h"

namespace kvlab {
namespace {
using nlohmann::json;

json named(const char* what, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", name}}}};
}

json complete(const std::string& name, const std::string& category, double ts, double dur, json args) {
  return {{"name", name}, {"cat", category}, {"ph", "X"}, {"ts", ts},
          {"dur", dur},   {"pid", 1},        {"tid", 1},  {"args", std::move(args)}};
}

json argsOf(const Event& event) {
  json args{{"bytes", event.bytes}};
  if (event.us > 0 && event.bytes > 0) args["GB/s"] = static_cast<double>(event.bytes) / event.us / 1e3;
  if (event.layer) args["layer"] = event.layer->value();
  if (!event.detail.empty()) args["detail"] = event.detail;
  return args;
}

std::string category(const Event& event) {
  return event.depth == 0 ? "step" : event.depth == 1 ? "action" : "operation";
}
}  // namespace

json chromeTrace(const std::vector<SnapshotPtr>& history) {
  json events = json::array();
  double now = 0;
  for (const SnapshotPtr& snapshot : history) {
    if (!snapshot || !snapshot->report) continue;
    const TickReport& report = *snapshot->report;
    const double us = tickMicroseconds(report);
    json args{{"tick", report.tick.value()}, {"ok", report.ok}, {"violations", report.violations.size()}};
    events.push_back(complete("tick " + std::to_string(report.tick.value()), "tick", now, us, std::move(args)));
    for (const Event& event : report.events)
      events.push_back(complete(event.name, category(event), now + event.startUs, event.us, argsOf(event)));
    events.push_back(
        {{"name", "length"}, {"ph", "C"}, {"ts", now + us}, {"pid", 1}, {"args", {{"positions", snapshot->length()}}}});
    now += us;
  }
  events.insert(events.begin(), {named("process_name", "kvlab"), named("thread_name", "engine")});
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
}

}  // namespace kvlab
