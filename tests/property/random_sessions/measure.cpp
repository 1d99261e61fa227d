// SPDX-License-Identifier: Apache-2.0
// Between two calls something is measured: nothing changes, and checks find the same as before.
#include "property/random_sessions/checks.h"
#include "property/random_sessions/draw.h"
#include "support/scripted.h"

namespace kvlab::random_sessions {
namespace {

/// One measurement, the same for the same step.
Step drawMeasurement(Draw& draw, const Session& session) {
  const int layer = draw.below(session.model().config().layers), place = draw.below(session.state().length());
  json layered{{"layer", layer}};
  if (session.cacheLayers().byHead()) layered["head"] = 0;
  json row = layered;
  row.update({{"index", place}, {"which", "both"}});
  json compared = row;
  compared["compare"] = draw.one({"rebuild", "before"});
  return draw.one<Step>({{"drift"},
                         {"drift"},
                         {"drift", {{"rows", true}}},
                         {"value", {{"expression", "kl"}}},
                         {"attention", layered},
                         {"attentionMatrix", layered},
                         {"quantisation"},
                         {"quantisation", {{"k", "int8"}}},
                         {"policies"},
                         {"table", tableArgs("topk", {{"k", 3}})},
                         {"row", row},
                         {"row", compared},
                         {"measureLifespans"},
                         {"difference", {{"tick", draw.below(session.state().tick.value() + 1)}}},
                         {"at", {{"tick", draw.below(session.state().tick.value() + 1)}, {"verb", "drift"}}},
                         {"knockOut", {{"ledger", {place}}}}});
}

}  // namespace

std::optional<Failure> Player::measured(const Step& step) {
  if (m_faulty || m_session->health().status == SessionState::Broken) return std::nullopt;
  Draw draw(std::hash<std::string>{}(toJson(step).dump()));
  const Step measurement = drawMeasurement(draw, *m_session);
  const Digest before = digestOf(*m_session);
  (void)execute(*m_session, measurement.verb, measurement.args);  // it may be refused: an empty context has no rows
  if (const std::string what = difference(before, digestOf(*m_session)); !what.empty())
    return Failure{"read_changed", measurement.verb, what, "a measurement changed the " + what};
  Found found = holds(measurement.verb);
  if (found) found->kind = "measured_" + found->kind;
  return found;
}

}  // namespace kvlab::random_sessions
