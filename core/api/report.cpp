// SPDX-License-Identifier: Apache-2.0
#include "core/api/report.h"

namespace kvlab {

nlohmann::json toJson(const Event& event) {
  nlohmann::json json{{"name", event.name},
                      {"depth", event.depth},
                      {"start_us", event.startUs},
                      {"us", event.us},
                      {"bytes", event.bytes}};
  if (event.layer) json["layer"] = event.layer->value();
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
  nlohmann::json json{{"found", since.found.value()}, {"text", intervalText(since)}};
  if (since.verified) json["verified"] = since.verified->value();
  if (since.computed) json["computed"] = since.computed->value();
  if (since.reached) json["reached"] = since.reached->value();
  return json;
}

nlohmann::json toJson(const Violation& violation) {
  nlohmann::json json{{"invariant", violation.invariant}, {"detail", violation.detail}};
  if (violation.layer) json["layer"] = violation.layer->value();
  if (violation.index) json["index"] = violation.index->value();
  if (violation.ledger) json["ledger"] = violation.ledger->value();
  if (violation.since) json["since"] = toJson(*violation.since);
  return json;
}

nlohmann::json toJson(const TickReport& report) {
  nlohmann::json json{{"ok", report.ok},
                      {"tick", report.tick.value()},
                      {"token", nullptr},
                      {"text", report.text},
                      {"actions", nlohmann::json::array()},
                      {"left", nlohmann::json::array()},
                      {"events", nlohmann::json::array()},
                      {"violations", nlohmann::json::array()}};
  if (report.error) json["error"] = report.error->toJson();
  if (report.token) json["token"] = report.token->value();
  json["block"] = nlohmann::json::array();
  for (const TokenId token : report.block) json["block"].push_back(token.value());
  for (const Action& action : report.actions) json["actions"].push_back(toJson(action));
  for (const Evict& left : report.left) {
    json["left"].push_back(toJson(Action(left)));
    json["left"].back().erase("action");
  }
  for (const Event& event : report.events) json["events"].push_back(toJson(event));
  for (const Violation& violation : report.violations) json["violations"].push_back(toJson(violation));
  return json;
}

}  // namespace kvlab
