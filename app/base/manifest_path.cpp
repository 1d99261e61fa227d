// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/manifest_path.h"

#include <QStringList>
#include <algorithm>

#include "core/api/manifest_values.h"
#include "core/api/policy_spec.h"
#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

const QString kPolicy = QStringLiteral("policy"), kOfPolicy = QStringLiteral("policy.");

void setAt(json& object, const QString& path, const json& value) {
  const std::string key = path.section('.', 0, 0).toStdString();
  const QString rest = path.section('.', 1);
  if (rest.isEmpty()) {
    if (value.is_null()) object.erase(key);
    else object[key] = value;
    return;
  }
  if (!object.contains(key) || !object[key].is_object()) {
    if (value.is_null()) return;
    object[key] = json::object();
  }
  setAt(object[key], rest, value);
  if (object[key].empty() && key != "wlod") object.erase(key);  // {} is wLOD with its defaults
}

/// The policy under another name, with the keys that the new one takes.
json renamed(const json& policy, const json& name) {
  const std::optional<PolicyName> next = policyNamed(jsonOr(name, std::string()));
  json out = json::object();
  for (const auto& [key, value] : policy.items()) {
    const std::string& wanted = key;
    const bool own =
        std::ranges::any_of(policies(), [&wanted](const PolicyName& policyName) { return policyName.takes(wanted); });
    if (next && key != "name" && key != "preset" && (!own || next->takes(key))) out[key] = value;
  }
  if (!name.is_null()) out["name"] = name;
  return out;
}

}  // namespace

void setManifestValue(json& manifest, const QString& key, const json& value) {
  if (key != kPolicy && !key.startsWith(kOfPolicy)) return setAt(manifest, key, value);
  json policy = policyObject(manifest);
  if (key == kPolicy) {
    if (value != member(policy, "name")) policy = renamed(policy, value);
  } else {
    setAt(policy, key.mid(kOfPolicy.size()), value);
    if (!policy.empty() && !policy.contains("name")) policy["name"] = "full";  // the default policy
    if (policy == json{{"name", "full"}}) policy = json::object();
  }
  if (policy.empty()) manifest.erase("policy");
  else manifest["policy"] = policy.size() == 1 && policy.contains("name") ? json(policy["name"]) : policy;
}

json withChanges(json manifest, const json& changes) {
  for (const char* whole : {"policy", "layout"})
    if (changes.contains(whole)) manifest.erase(whole);
  manifest.merge_patch(changes);
  return manifest;
}

QString manifestText(const json& value) {
  if (value.is_null()) return {};
  return QString::fromStdString(value.is_string() ? jsonOr(value, std::string()) : value.dump());
}

}  // namespace kvlab
