// SPDX-License-Identifier: Apache-2.0
// Verbs that report the evictions of policies and the lifespans of rows.

#include "core/api/json_values.h"
#include "core/session/truth.h"
#include "core/verbs/verb_layers.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
/// Figures of each head, without the points of the plot.
json lifespanFigures(const LifespanView& view) {
  json out = toJson(view);
  for (json& layer : out["layers"])
    for (json& head : layer) head.erase("points");
  return out;
}

Result<json> measureLifespansVerb(Session& session, VerbArgs& in) {
  const std::shared_ptr<const LifespanView> measured = KV_TRY(measureLifespans(session, at(in.integer("points"))));
  return lifespanFigures(*measured);
}

/// since: the serial that the caller knows. If it is current, the reply holds only the serial.
Result<json> lifespansVerb(const Session& session, VerbArgs& in) {
  const std::shared_ptr<const LifespanView>& view = session.watching().lifespans;
  if (!view) return json();
  if (view->serial == static_cast<std::uint64_t>(in.integer("since"))) return json{{"serial", view->serial}};
  return toJson(*view);
}

json auditOf(const LayerAudit& audit) {
  json out = KV_MEMBERS(audit, policy, bounded, rows, rowBytes, evicted, evictedEver, protectedRows, fallback);
  out.update({{"broken", audit.broken()},
              {"bands", nullptr},
              {"requested", nullptr},
              {"fired", nullptr},
              {"contests", json::array()}});
  if (audit.bounded) {
    out["bands"] = KV_MEMBERS(audit.bands, sinks, budget, window);
    out["requested"] = audit.requested();
  }
  if (audit.fired) out["fired"] = audit.fired->value();
  for (const Contest& c : audit.contests)
    out["contests"].push_back({{"challenger", c.challenger.value()},
                               {"challengerScore", finite(c.challengerScore)},
                               {"loser", c.loser.value()},
                               {"loserScore", finite(c.loserScore)}});
  return out;
}

Result<json> policiesVerb(const Session& session, VerbArgs&) {
  const std::shared_ptr<const PolicyState>& state = session.state().policy;
  json out{{"prefilling", state && state->prefilling}, {"tick", nullptr}, {"us", 0}, {"layers", json::array()}};
  for (const CacheLayer layer : session.state().layers()) {
    LayerAudit audit;
    audit.policy = "full";
    audit.rowBytes = session.store().pool(layer).stride();
    if (state) audit = state->audit.layers[at(layer)];
    audit.rows = static_cast<std::int32_t>(session.state().map(layer).resident());
    out["layers"].push_back(auditOf(audit));
    out["layers"].back()["layer"] = session.cacheLayers().layerOf(layer).value();
    if (const std::optional<Head> head = session.cacheLayers().headOf(layer))
      out["layers"].back()["kvHead"] = head->value();
    out["layers"].back()["spec"] = state ? state->specs[at(layer)].toJson() : PolicySpec{}.toJson();
  }
  if (state) out["us"] = state->audit.us;
  if (state && state->audit.tick.value() > 0) out["tick"] = state->audit.tick.value();
  return out;
}

}  // namespace

std::span<const Verb> policyVerbs() {
  static const Verb kVerbs[] = {
      {verb::measures("measureLifespans", {arg::integer("points", 0, 1 << 20).orElse(400)},
                      "Compares lifespans of rows without eviction with those that gates predicted: R2 and calibration "
                      "per layer and KV head. It makes one fresh pass in which nothing is evicted, as recordLifespans "
                      "does. lifespans keeps at most so many points of each head.",
                      "LifespanFigures"),
       measureLifespansVerb},
      {verb::reads("lifespans", {arg::integer("since", 0, (std::int64_t{1} << 53) - 1).orElse(0)},
                   "Gives the last measurement with the points to draw, as the view Policy does; null before the "
                   "first. Where the measurement has the serial number since, the answer is that number alone.",
                   "LifespanFigures | { serial: number } | null"),
       lifespansVerb},
      {verb::reads("policies", {}, "Tells what each layer's policy was asked to keep, and what it evicted.",
                   "PolicyAudit"),
       policiesVerb},
  };
  return kVerbs;
}

}  // namespace kvlab
