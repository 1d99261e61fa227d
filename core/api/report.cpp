// SPDX-License-Identifier: Apache-2.0
#include "core/api/report.h"

#include "core/api/json_values.h"

namespace kvlab {

nlohmann::json toJson(const Event& event) {
  nlohmann::json json{{"name", event.name},
                      {"depth", event.depth},
                      {"start_us", event.startUs},
                      {"us", event.us},
                      {"bytes", event.bytes}};
  if (event.layer) json["layer"] = *event.layer;
  if (!event.detail.empty()) json["detail"] = event.detail;
  return json;
}

std::string intervalText(const DamageSince& since) {
  const auto tick = [](Tick at) { return "tick " + std::to_string(at.value()); };
  const std::string found = tick(since.found) + " (found)";
  std::string out = "by " + found;
  if (since.verified) out = "between " + tick(*since.verified) + " (verified) and " + found;
  if (since.verified == since.found) out = "at " + tick(since.found) + ", after a check had passed";
  if (since.computed) out = "between " + tick(*since.computed) + " (computed) and " + found;
  if (since.computed == since.found) out = "at " + tick(since.found) + " (computed and found)";
  return since.reached ? out + "; the session came back from " + tick(*since.reached) + " in between" : out;
}

nlohmann::json toJson(const DamageSince& since) {
  nlohmann::json json{{"found", since.found}, {"text", intervalText(since)}};
  if (since.verified) json["verified"] = *since.verified;
  if (since.computed) json["computed"] = *since.computed;
  if (since.reached) json["reached"] = *since.reached;
  return json;
}

nlohmann::json toJson(const Violation& violation) {
  nlohmann::json json{{"invariant", violation.invariant}, {"detail", violation.detail}};
  if (violation.layer) json["layer"] = *violation.layer;
  if (violation.index) json["index"] = *violation.index;
  if (violation.ledger) json["ledger"] = *violation.ledger;
  if (violation.since) json["since"] = toJson(*violation.since);
  return json;
}

nlohmann::json toJson(const TickReport& report) {
  nlohmann::json json{{"ok", report.ok},
                      {"tick", report.tick},
                      {"token", orNull(report.token)},
                      {"block", report.block},
                      {"text", report.text},
                      {"actions", listJson(report.actions)},
                      {"left", nlohmann::json::array()},
                      {"events", listJson(report.events)},
                      {"violations", listJson(report.violations)}};
  if (report.error) json["error"] = report.error->toJson();
  for (const Evict& left : report.left) {
    json["left"].push_back(toJson(Action(left)));
    json["left"].back().erase("action");
  }
  return json;
}

}  // namespace kvlab
