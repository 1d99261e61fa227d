// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/api/guarded.h"
#include "core/api/manifest_list.h"
#include "core/api/read_json.h"
#include "core/policy/expression_policy.h"

namespace kvlab {

#define KVLAB_POLICY(factory, name, keys, help) Policy factory();
#include "core/api/policies.inc"
#undef KVLAB_POLICY

namespace {

using nlohmann::json;

constexpr StatisticName kStatistics[] = {
    {"received", kReceived}, {"observed", kObserved}, {"newest", kNewest},         {"keys", kKeys},
    {"values", kValues},     {"gates", kGates},       {"brightness", kBrightness}, {"queries", kMoments},
    {"future", kFuture}};

std::string keysFor(unsigned needs) {
  std::string out;
  if (needs & (kObserved | kMoments)) out += "observe ";
  if (needs & kGates) out += "gates ";
  if (needs & kFuture) out += "record ";
  return out;
}

Error badDeclaration(const std::string& why) {
  return Error("bad_policy", "a policy was not added", why, "use an undamaged copy of the file", "policies");
}

/// A policy that is known by its decisions alone.
Policy withoutRule(const std::string& name, unsigned needs, bool observes) {
  Error absent("bad_policy", "the policy " + name + " was not asked", "its rule is not in this program",
               "add it as in the session that was recorded: kvlab.policy in Python", "name", name);
  Policy out{.needs = needs};
  out.scores = [absent](const PolicySpec&, const LayerRows&) -> Result<std::vector<float>> { return absent; };
  if (observes) out.observes = [absent](const PolicySpec&, const LayerRows&) -> Result<std::string> { return absent; };
  return out;
}

}  // namespace

std::span<const StatisticName> statistics() { return kStatistics; }

Result<unsigned> statisticsNamed(const std::string& policy, const json& names) {
  unsigned out = kNoStatistic;
  for (const json& one : names) {
    const auto known = std::ranges::find_if(kStatistics, [&](const StatisticName& own) { return one == own.name; });
    if (known == std::end(kStatistics)) {
      std::string all;
      for (const StatisticName& own : kStatistics) all += (all.empty() ? "" : ", ") + std::string(own.name);
      return Error("bad_policy", "the policy " + policy + " was not added", "it needs " + one.dump(),
                   "name some of " + all, "needs", one);
    }
    out |= known->statistic;
  }
  return out;
}

Status addPolicy(const std::string& name, const std::string& help, const json& options, Policy policy) {
  policy.added = true;
  json needs = json::array();
  for (const StatisticName& one : kStatistics)
    if (policy.needs & one.statistic) needs.push_back(one.name);
  return addPolicyName(
      {.kind = AddedKind::Policy,
       .name = name,
       .help = help,
       .revision = policy.revision,
       .options = options,
       .more = {{"needs", std::move(needs)}, {"observes", policy.observes != nullptr}, {"keys", keysFor(policy.needs)}},
       .rule = std::make_shared<const Policy>(std::move(policy))});
}

json addedPolicies() {
  json out;
  for (const Added* one : everyAdded(AddedKind::Policy))
    out.push_back({{"name", one->name},
                   {"help", one->help},
                   {"needs", one->more["needs"]},
                   {"options", one->options},
                   {"observes", one->more["observes"]},
                   {"revision", one->revision}});
  return out;
}

Status declarePolicies(const json& list) {
  if (!list.is_array()) return badDeclaration("policies is not a list");
  for (const json& one : list) {
    const std::string name = memberOr(one, "name", std::string());
    if (policyNamed(name)) continue;
    const unsigned needs = KV_TRY(statisticsNamed(name, member(one, "needs")));
    KV_TRY(addPolicy(name, memberOr(one, "help", std::string()), member(one, "options"),
                     withoutRule(name, needs, memberOr(one, "observes", false))));
  }
  return ok();
}

Result<const Policy*> findPolicy(std::string_view name) {
  static const Policy kPolicies[] = {
#define KVLAB_POLICY(factory, name, keys, help) factory(),
#include "core/api/policies.inc"
#undef KVLAB_POLICY
  };
  static constexpr std::string_view kNames[] = {
#define KVLAB_POLICY(factory, name, keys, help) name,
#include "core/api/policies.inc"
#undef KVLAB_POLICY
  };
  const auto found = std::ranges::find(kNames, name);
  if (found != std::end(kNames)) return &kPolicies[found - std::begin(kNames)];
  if (const Added* one = addedNamed(AddedKind::Policy, name)) return static_cast<const Policy*>(one->rule.get());
  return Error("bad_manifest", "the policy was refused", notAPolicy(name), "see kvlab list policies", "name",
               std::string(name));
}

Status knownPolicies(const std::vector<PolicySpec>& specs) {
  for (const PolicySpec& spec : specs) {
    KV_TRY(findPolicy(spec.name));
    if (spec.name == "score") KV_TRY(expressionFault(spec.by));
  }
  return ok();
}

unsigned needsOf(const PolicySpec& spec) {
  return policyOf(spec.name).needs | (spec.name == "score" ? expressionNeeds(spec.by) : 0u);
}

const Policy& policyOf(std::string_view name) {
  const Result<const Policy*> found = findPolicy(name);
  if (!found) throw ErrorThrown(found.error());
  return **found;
}

}  // namespace kvlab
