// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that set eviction policies and measure lifespans.

#include <algorithm>

#include "app/command_registry.h"
#include "app/command_rules.h"
#include "core/api/policy_spec.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

constexpr auto kRefused = "the policy was refused";

/// Checks the layer now; the verb would report the error only after the menu has closed.
Status policySet(CommandHost& host, const Json& args) {
  const auto spec = PolicySpec::fromJson(args["policy"]);
  if (checkLayer(host, args, kRefused) && !spec) return spec.error();
  return layerVerb(host, "setPolicy", args, {"policy", "layer"}, kRefused);
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
  add(list,
      {"policy_set", "Set Eviction Policy", "",
       "Use another eviction policy in a layer, or in all layers, from the next tick on."},
      policySet, needsIdle,
      {.args = {{"policy", "string", "as `kvlab list policies` names it, with keys: h2o:ratio=0.25", true},
                {"layer", "number", "the layer; all of them unless given"}}});
  add(list,
      {"lifespans_measure", "Measure Lifespans", "Run",
       "Measure how long rows are used without eviction, and compare with what gates predicted."},
      plainVerb("measureLifespans"), needsGates, {.view = shownIn("smartkv")});
}

}  // namespace kvlab
