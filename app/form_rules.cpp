// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/form_rules.h"

#include <QCoreApplication>
#include <algorithm>

#include "app/manifest_path.h"
#include "core/api/layout_names.h"
#include "core/api/manifest_list.h"
#include "core/api/policy_spec.h"
#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

QString words(const char* text) { return QCoreApplication::translate("kvlab::FormRules", text); }

QString fromView(std::string_view text) { return QString::fromUtf8(text.data(), std::ssize(text)); }

/// What a key stands at: what is written, else its default.
json inForce(const json& manifest, const QString& key) {
  if (const json value = manifestValue(manifest, key); !value.is_null()) return value;
  static const std::vector<ManifestKey> kKeys = manifestKeys();
  const auto found =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const ManifestKey& one) { return one.key == key.toStdString(); });
  return found == kKeys.end() ? json() : found->otherwise;
}

/// The policy with its preset; the bare names and values where it is refused.
PolicySpec policyInForce(const json& manifest) {
  const Result<PolicySpec> read =
      manifest.contains("policy") ? PolicySpec::fromJson(member(manifest, "policy")) : PolicySpec();
  if (read) return *read;
  PolicySpec spec;
  if (manifestValue(manifest, "policy.allocator") == "pyramid") spec.allocator = Allocator::Pyramid;
  if (manifestValue(manifest, "policy.head_budget") == "adaptive") spec.headBudget = HeadBudget::Adaptive;
  return spec;
}

bool anyTakes(const std::string& key) {
  return std::any_of(policies().begin(), policies().end(), [&](const PolicyName& one) { return one.takes(key); });
}

QString ofPolicy(const json& manifest, const QString& key) {
  const std::string name = manifestText(inForce(manifest, "policy")).toStdString(), own = key.mid(7).toStdString();
  const PolicyName* policy = policyNamed(name);
  if (!policy) return {};  // the check names the mistake
  if (policy == policyNamed("full")) return words("the policy is full, which keeps every row");
  const auto ofIt = [&](const PolicyPreset& one) { return one.policy == policy->name; };
  if (own == "preset" && std::none_of(policyPresets().begin(), policyPresets().end(), ofIt))
    return words("%1 has no presets").arg(fromView(name));
  if (anyTakes(own) && !policy->takes(own)) return words("%1 does not take them").arg(fromView(name));
  const PolicySpec spec = policyInForce(manifest);
  if (own == "beta" && spec.allocator != Allocator::Pyramid) return words("allocator is not pyramid");
  if (own == "alpha" && spec.headBudget != HeadBudget::Adaptive) return words("head_budget is not adaptive");
  return {};
}

bool isRing(const json& layout) {
  return jsonOr(layout.is_object() ? member(layout, "name") : layout, std::string()).starts_with("ring_");
}

bool hasRing(const json& manifest) {
  const json& layers = member(manifest, "layers");
  return isRing(inForce(manifest, "layout")) ||
      std::any_of(layers.begin(), layers.end(), [](const json& one) { return isRing(member(one, "layout")); });
}

bool hasWlod(const json& manifest) {
  const json& wlod = member(manifest, "wlod");
  return !wlod.is_null() && wlod != "off";
}

/// A key and what another key has to stand at for it.
struct Needs {
  const char *key, *other, *value, *why;
};
constexpr Needs kNeeds[] = {
    {"absolute_overflow", "position", "absolute", "position is not absolute"},
    {"brightness.min_cosine", "brightness.compressor", "nearest", "brightness.compressor is not nearest"},
    {"check.scrub_period", "check.level", "cheap", "check.level is not cheap"},
    {"wlod.w", "wlod.attention", "pyramid", "wlod.attention is not pyramid"},
    {"wlod.w2", "wlod.attention", "pyramid", "wlod.attention is not pyramid"},
    {"wlod.near_causal", "wlod.attention", "pyramid", "wlod.attention is not pyramid"},
    {"wlod.selective_ratio", "wlod.recompute", "selective", "wlod.recompute is not selective"}};

bool onlyForDraws(const QString& key) {
  return key == "sampling.top_k" || key == "sampling.top_p" || key == "sampling.seed";
}

}  // namespace

QString whyIdle(const json& manifest, const QString& key) {
  if (!manifest.is_object()) return {};
  if (key.startsWith("policy.")) return ofPolicy(manifest, key);
  if (key.startsWith("wlod.") && !hasWlod(manifest)) return words("wLOD is off");
  const bool ofRings = key == "ring.window" || key == "ring.tail_only" || key == "guards";
  if (ofRings && !hasRing(manifest)) return words("no layer has a ring layout");
  if (key == "brightness.target" && inForce(manifest, "brightness.compressor") == "off")
    return words("brightness.compressor is off");
  if (onlyForDraws(key) && inForce(manifest, "sampling.temperature") == 0) return words("sampling.temperature is 0");
  for (const Needs& one : kNeeds)
    if (key == one.key && inForce(manifest, one.other) != one.value) return words(one.why);
  return {};
}

QString helpOfChoice(const json& manifest, const QString& key) {
  if (key != "policy" && key != "layout") return {};
  const std::string name = manifestText(inForce(manifest, key)).section(':', 0, 0).toStdString();
  if (key == "policy") {
    const PolicyName* policy = policyNamed(name);
    return policy ? fromView(policy->help) : QString();
  }
  for (const LayoutName& one : layouts())
    if (one.name == name) return fromView(one.help);
  return {};
}

}  // namespace kvlab
