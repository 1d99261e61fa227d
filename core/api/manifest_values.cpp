// SPDX-License-Identifier: Apache-2.0
#include "core/api/manifest_values.h"

#include <algorithm>

#include "core/api/manifest_list.h"
#include "core/api/policy_spec.h"
#include "core/api/read_json.h"
#include "core/api/texts.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr std::string_view kPolicy = "policy", kOfPolicy = "policy.", kOfWlod = "wlod.";

json valueAt(const json& object, std::string_view path) {
  std::string pointer = "/" + std::string(path);
  std::ranges::replace(pointer, '.', '/');
  const json::json_pointer at(pointer);
  return object.contains(at) ? object.at(at) : json();
}

const std::vector<ManifestKey>& allKeys() {
  static const std::vector<ManifestKey> kKeys = manifestKeys();
  return kKeys;
}

/// The policy with its preset; the bare names and values where it is refused.
PolicySpec policyInForce(const json& manifest) {
  const Result<PolicySpec> read =
      manifest.contains(kPolicy) ? PolicySpec::fromJson(member(manifest, "policy")) : PolicySpec();
  if (read) return *read;
  PolicySpec spec;
  if (manifestValue(manifest, "policy.allocator") == "pyramid") spec.allocator = Allocator::Pyramid;
  if (manifestValue(manifest, "policy.head_budget") == "adaptive") spec.headBudget = HeadBudget::Adaptive;
  return spec;
}

bool anyTakes(const std::string& key) {
  return std::ranges::any_of(policies(), [&](const PolicyName& one) { return one.takes(key); });
}

/// own: the key without "policy.".
std::string whyPolicyIdles(const json& manifest, const std::string& own) {
  const auto name = jsonOr(valueInForce(manifest, kPolicy), std::string());
  const std::optional<PolicyName> policy = policyNamed(name);
  if (!policy) return {};  // the check names the mistake
  if (policy->name == "full") return "the policy is full, which keeps every row";
  const auto ofIt = [&](const PolicyPreset& one) { return one.policy == policy->name; };
  if (own == "preset" && std::none_of(policyPresets().begin(), policyPresets().end(), ofIt))
    return name + " has no presets";
  if (anyTakes(own) && !policy->takes(own)) return name + " does not take them";
  const PolicySpec spec = policyInForce(manifest);
  if (own == "beta" && spec.allocator != Allocator::Pyramid) return "allocator is not pyramid";
  if (own == "alpha" && spec.headBudget != HeadBudget::Adaptive) return "head_budget is not adaptive";
  return {};
}

bool isRing(const json& layout) {
  return jsonOr(layout.is_object() ? member(layout, "name") : layout, std::string()).starts_with("ring_");
}

bool hasRing(const json& manifest) {
  const json& layers = member(manifest, "layers");
  return isRing(valueInForce(manifest, "layout")) ||
      std::any_of(layers.begin(), layers.end(), [](const json& one) { return isRing(member(one, "layout")); });
}

bool hasWlod(const json& manifest) {
  const json& wlod = member(manifest, "wlod");
  return !wlod.is_null() && wlod != "off";
}

/// A key that has an effect only with a certain value of another key.
struct Needs {
  std::string_view key, other, value, why;
};
constexpr Needs kNeeds[] = {
    {"absolute_overflow", "position", "absolute", "position is not absolute"},
    {"brightness.min_cosine", "brightness.compressor", "nearest", "brightness.compressor is not nearest"},
    {"check.scrub_period", "check.level", "cheap", "check.level is not cheap"},
    {"wlod.w", "wlod.attention", "pyramid", "wlod.attention is not pyramid"},
    {"wlod.w2", "wlod.attention", "pyramid", "wlod.attention is not pyramid"},
    {"wlod.near_causal", "wlod.attention", "pyramid", "wlod.attention is not pyramid"},
    {"wlod.selective_ratio", "wlod.recompute", "selective", "wlod.recompute is not selective"},
    {"wlod.keep_drift", "wlod.recompute", "keep", "wlod.recompute is not keep"}};

bool onlyForDraws(std::string_view key) {
  return key == "sampling.top_k" || key == "sampling.top_p" || key == "sampling.seed";
}

}  // namespace

json policyObject(const json& manifest) {
  if (!manifest.is_object() || !manifest.contains(kPolicy)) return json::object();
  const Result<json> object = namedObject(member(manifest, "policy"));
  return object && object->is_object() ? *object : json::object();
}

json manifestValue(const json& manifest, std::string_view key) {
  if (key == kPolicy) return member(policyObject(manifest), "name");
  if (!key.starts_with(kOfPolicy)) return valueAt(manifest, key);
  return valueAt(policyObject(manifest), key.substr(kOfPolicy.size()));
}

json valueInForce(const json& manifest, std::string_view key) {
  if (const json value = manifestValue(manifest, key); !value.is_null()) return value;
  const auto found = std::ranges::find(allKeys(), key, &ManifestKey::key);
  return found == allKeys().end() ? json() : found->otherwise;
}

std::string whyIdle(const json& manifest, std::string_view key) {
  if (!manifest.is_object()) return {};
  if (key.starts_with(kOfPolicy)) return whyPolicyIdles(manifest, std::string(key.substr(kOfPolicy.size())));
  if (key.starts_with(kOfWlod) && !hasWlod(manifest)) return "wLOD is off";
  const bool ofRings = key == "ring.window" || key == "ring.tail_only" || key == "guards";
  if (ofRings && !hasRing(manifest)) return "no layer has a ring layout";
  if (key == "brightness.target" && valueInForce(manifest, "brightness.compressor") == "off")
    return "brightness.compressor is off";
  if (onlyForDraws(key) && valueInForce(manifest, "sampling.temperature") == 0) return "sampling.temperature is 0";
  for (const Needs& one : kNeeds)
    if (key == one.key && valueInForce(manifest, one.other) != one.value) return std::string(one.why);
  return {};
}

std::vector<std::string> idleKeys(const Manifest& manifest, const Manifest& origin) {
  const json all = manifest.toJson(), known = origin.toJson();
  std::vector<std::string> out;
  for (const ManifestKey& one : allKeys()) {
    if (one.key.starts_with(kOfPolicy) || one.key == "sampling.seed")
      continue;  // a policy refuses what it does not take
    const json value = valueAt(all, one.key);
    if (value.is_null() || value == false || value == one.otherwise) continue;
    if (value == valueAt(known, one.key) && !whyIdle(known, one.key).empty()) continue;
    if (const std::string why = whyIdle(all, one.key); !why.empty())
      out.push_back(one.key + " is " + value.dump() + " without effect: " + why);
  }
  return out;
}

std::vector<std::string> idleKeys(const Manifest& manifest) {
  static const Manifest kAsOpened;
  return idleKeys(manifest, kAsOpened);
}

}  // namespace kvlab
