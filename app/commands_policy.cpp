// SPDX-License-Identifier: GPL-3.0-or-later
// Commands about which rows layers keep.

#include <algorithm>

#include "app/command_registry.h"
#include "app/command_rules.h"
#include "core/api/policy_spec.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

/// Checks what a verb would check, too, but not before a menu has closed.
Status policySet(CommandHost& host, const Json& args) {
  if (Status known = checkLayer(host, args, "the policy was refused"); !known) return known;
  if (const auto spec = PolicySpec::fromJson(args["policy"]); !spec) return spec.error();
  QString line = "s.setPolicy(" + QString::fromStdString(args["policy"].dump());
  if (args.contains("layer")) line += ", " + QString::fromStdString(args["layer"].dump());
  emit host.context().scripted(line + ")");
  host.context().submit("setPolicy", args);
  return ok();
}

Status measureLifespans(CommandHost& host, const Json&) {
  LiveContext& context = host.context();
  emit context.scripted("s.measureLifespans()");
  context.submit("measureLifespans", Json::object());
  return ok();
}

QString needsGates(const CommandHost& host) {
  if (const QString why = needsIdle(host); !why.isEmpty()) return why;
  const auto& audit = host.context().snapshot()->policies;
  const auto gated = [](const LayerAudit& layer) { return layer.policy == "smartkv"; };
  return audit && std::any_of(audit->layers.begin(), audit->layers.end(), gated)
      ? QString()
      : QString("no layer's policy is smartkv, so that no gate predicts");
}

}  // namespace

void addPolicyCommands(std::vector<Command>& list) {
  list.push_back({"policy_set",
                  "Set Eviction Policy",
                  "",
                  "Evict rows of a layer, or of all, by another policy from the next tick on.",
                  {},
                  "",
                  {{"policy", "string", "as `kvlab list policies` names it, with keys: h2o:ratio=0.25", true},
                   {"layer", "number", "the layer; all of them unless given"}},
                  policySet,
                  needsIdle});
  list.push_back({"lifespans_measure",
                  "Measure Lifespans",
                  "Run",
                  "See how long each row is used when nothing is evicted, beside what gates predicted.",
                  {},
                  "",
                  {},
                  measureLifespans,
                  needsGates});
}

}  // namespace kvlab
