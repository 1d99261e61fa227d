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

std::string CulledPairNote::text() const {
  static constexpr std::string_view kWhy[] = {"culled",
                                              "no token is near enough",
                                              "pinned",
                                              "an action of the list touches it",
                                              "the last layer lacks it",
                                              "it shares a token with a chosen pair",
                                              "as many pairs as the rule takes are dimmer"};
  const std::int32_t at = first.value();
  return "positions " + std::to_string(at) + " and " + std::to_string(at + 1) + ", brightness " +
      numberWords(brightness) + ": " + std::string(kWhy[static_cast<std::size_t>(outcome)]) +
      (token ? ", token " + std::to_string(token->value()) : "");
}

nlohmann::json toJson(const CulledPairNote& note) {
  nlohmann::json json{{"position", note.first},
                      {"ledger", {note.ledger[0], note.ledger[1]}},
                      {"brightness", note.brightness},
                      {"outcome", name(note.outcome)},
                      {"text", note.text()}};
  if (note.token) json["token"] = *note.token;
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
  if (!report.culling.empty()) json["culling"] = listJson(report.culling);
  for (const Evict& left : report.left) {
    json["left"].push_back(toJson(Action(left)));
    json["left"].back().erase("action");
  }
  return json;
}

}  // namespace kvlab
