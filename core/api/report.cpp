// SPDX-License-Identifier: Apache-2.0
#include "core/api/report.h"

#include <algorithm>

#include "core/api/json_values.h"

namespace kvlab {

namespace {

nlohmann::json runJson(const RingRun& run) { return {run.begin, run.count}; }

std::string runText(const RingRun& run) { return std::to_string(run.count) + " at " + std::to_string(run.begin); }

std::string layersText(CacheLayer first, std::int32_t layers) {
  const std::string one = std::to_string(first.value());
  return "layer " + one + (layers == 1 ? "" : " and " + std::to_string(layers - 1) + " more");
}

}  // namespace

std::int64_t RingRead::rows() const {
  std::int64_t rows = 0;
  for (const RingRun& run : runs) rows += run.count;
  return rows;
}

nlohmann::json toJson(const RingCommit& ring) {
  nlohmann::json json = KV_MEMBERS(ring, layer, layers, length, offset, shift, pointer, filled);
  json["write"] = runJson(ring.write);
  return json;
}

nlohmann::json toJson(const RingRead& read) {
  nlohmann::json json = KV_MEMBERS(read, layer, layers, pointer);
  json["rows"] = read.rows();
  json["ranges"] = nlohmann::json::array();
  for (const RingRun& run : read.runs) json["ranges"].push_back(runJson(run));
  return json;
}

std::string ringText(const RingCommit& ring) {
  return layersText(ring.layer, ring.layers) + ": length " + std::to_string(ring.length) + ", offset " +
      std::to_string(ring.offset) + ", shift " + std::to_string(ring.shift) + ", write " + runText(ring.write) +
      ", pointer " + std::to_string(ring.pointer) + ", filled " + std::to_string(ring.filled);
}

std::string ringText(const RingRead& read) {
  std::string out;
  for (const RingRun& run : read.runs) out += (out.empty() ? " reads " : " and ") + runText(run);
  return layersText(read.layer, read.layers) + ":" + out;
}

nlohmann::json toJson(const Event& event) {
  nlohmann::json json{{"name", event.name},
                      {"depth", event.depth},
                      {"start_us", event.startUs},
                      {"us", event.us},
                      {"bytes", event.bytes}};
  if (event.layer) json["layer"] = *event.layer;
  if (!event.detail.empty()) json["detail"] = event.detail;
  if (event.rings && !event.rings->commits.empty()) json["rings"] = listJson(event.rings->commits);
  if (event.rings && !event.rings->reads.empty()) json["reads"] = listJson(event.rings->reads);
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

void Conversions::add(const Conversions& from) {
  if (from.scales > 0) {
    const auto own = static_cast<double>(scales), other = static_cast<double>(from.scales);
    scaleMin = scales > 0 ? std::min(scaleMin, from.scaleMin) : from.scaleMin;
    scaleMax = std::max(scaleMax, from.scaleMax);
    scaleMean = (scaleMean * own + from.scaleMean * other) / (own + other);
  }
  values += from.values;
  nonFinite += from.nonFinite;
  clipped += from.clipped;
  atMax += from.atMax;
  scales += from.scales;
  floored += from.floored;
}

Conversions together(const std::vector<LayerConversions>& layers) {
  Conversions all;
  for (const LayerConversions& one : layers)
    for (const Conversions* tensor : {&one.k, &one.v})
      if (tensor->values > 0) all.add(*tensor);
  return all;
}

std::string conversionsText(const Conversions& all) {
  return std::to_string(all.atMax) + " of " + std::to_string(all.values) + " values at the limit, " +
      std::to_string(all.nonFinite) + " not finite, scales " + numberWords(all.scaleMin) + " to " +
      numberWords(all.scaleMax) + ", mean " + numberWords(all.scaleMean);
}

nlohmann::json toJson(const Conversions& conversions) {
  nlohmann::json json = KV_MEMBERS(conversions, scales, nonFinite, clipped, atMax, floored);
  json["scale"] = {{"min", conversions.scaleMin}, {"mean", conversions.scaleMean}, {"max", conversions.scaleMax}};
  return json;
}

nlohmann::json toJson(const LayerConversions& one) {
  nlohmann::json json{{"layer", one.layer}, {"k", toJson(one.k)}, {"v", toJson(one.v)}};
  json["k"]["values"] = one.k.values;
  json["v"]["values"] = one.v.values;
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
                      {"conversions", listJson(report.conversions)},
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
