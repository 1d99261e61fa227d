// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/living_settings.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <map>
#include <optional>

#include "core/api/manifest.h"
#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

using Calls = std::vector<SettingsCall>;

/// Keys that verbs change; those of an object are meant with it.
const QStringList kLiving = {"layout",           "kv",    "policy",   "layers",   "capacity",   "after_edit",
                             "executor",         "check", "position", "sampling", "brightness", "op_events",
                             "ring.block_tokens"};
const QStringList kKept = {"brightness.max"};
constexpr const char* kRules[] = {"after_edit", "executor", "position", "sampling", "ring", "check", "brightness"};

Error refused(const std::string& key, const json& value, const QString& why, const char* remedy) {
  return {"bad_manifest", "the settings were not changed", why.toStdString(), remedy, {}, key, value};
}

/// The entries that differ from those of `usual`.
json besides(const json& all, const json& usual) {
  json out = json::object();
  for (const auto& [key, value] : all.items()) {
    const json& other = member(usual, key);
    if (value == other) continue;
    out[key] = value.is_object() && other.is_object() ? besides(value, other) : value;
  }
  return out;
}

json shortPolicy(const json& spec) {
  const json name = spec.contains("name") ? member(spec, "name") : json("full");
  const Result<PolicySpec> bare = PolicySpec::fromJson(name);
  json out = besides(spec, bare ? bare->toJson() : json::object());
  if (out.empty()) return name;
  out["name"] = name;
  return out;
}

/// [layers] what each layer's policy is; heads of a layer have the same.
std::map<int, PolicySpec> policiesByLayer(const json& policies) {
  std::map<int, PolicySpec> out;
  for (const json& one : member(policies, "layers"))
    if (const Result<PolicySpec> spec = PolicySpec::fromJson(member(one, "spec")))
      if (const int layer = memberOr(one, "layer", -1); layer >= 0) out[layer] = *spec;
  return out;
}

/// Layers of the manifest without policies of their own.
json withoutPolicies(const json& layers) {
  json out = json::array();
  for (json one : layers) {
    one.erase("policy");
    if (one.size() > 1) out.push_back(one);  // more than its match
  }
  return out;
}

/// The first key that differs and stays, as its path.
std::optional<Error> changesFixed(const json& now, const json& wanted, const QString& path = {}) {
  for (const auto& [key, value] : wanted.items()) {
    const json& old = member(now, key);
    if (value == old) continue;
    const QString here = (path.isEmpty() ? QString() : path + '.') + QString::fromStdString(key);
    if (value.is_object() && old.is_object() && key != "policy") {
      if (const auto inside = changesFixed(old, value, here)) return inside;
    } else if (const QString why = whyFixed(here); !why.isEmpty()) {
      return refused(here.toStdString(), value, here + ' ' + why, "open another session with these settings");
    }
  }
  return {};
}

/// A call for all layers where they end alike, else one for each that differs. of(manifest, layer): what the layer has.
template <class Of, class Make>
Status addByLayer(Calls& calls, const Manifest& from, const Manifest& to, int layers, Of of, Make make) {
  std::vector<int> changed;
  bool alike = true;
  for (int layer = 0; layer < layers; ++layer) {
    if (of(from, Layer(layer)) != of(to, Layer(layer))) changed.push_back(layer);
    alike = alike && of(to, Layer(layer)) == of(to, Layer(0));
  }
  if (alike && !changed.empty()) changed = {changed.front()};
  for (const int layer : changed) {
    SettingsCall call = KV_TRY(make(Layer(layer)));
    if (!alike) call.args["layer"] = layer;
    calls.push_back(std::move(call));
  }
  return ok();
}

Status addLayouts(Calls& calls, const Manifest& from, const Manifest& to, int layers) {
  return addByLayer(
      calls, from, to, layers, [](const Manifest& m, Layer layer) { return m.layoutOf(layer); },
      [&](Layer layer) -> Result<SettingsCall> {
        return SettingsCall{"setLayout", {{"layout", to.layoutOf(layer)}}, "layout"};
      });
}

Status addFormats(Calls& calls, const Manifest& from, const Manifest& to, int layers) {
  const auto of = [](const Manifest& m, Layer layer) { return std::pair(m.kOf(layer), m.vOf(layer)); };
  return addByLayer(calls, from, to, layers, of, [&](Layer layer) -> Result<SettingsCall> {
    SettingsCall call{"setFormat", json::object(), ""};
    for (const auto& [name, old, next] :
         {std::tuple{"k", from.kOf(layer), to.kOf(layer)}, std::tuple{"v", from.vOf(layer), to.vOf(layer)}}) {
      if (old == next) continue;
      call.args[name] = next;
      if (call.key.empty()) call.key = std::string("kv.") + name;
      if (next.empty())
        return refused(call.key, nullptr, QStringLiteral("a living session converts rows to a type that has a name"),
                       "name the type, such as f32");
    }
    return call;
  });
}

Status addPolicies(Calls& calls, const Manifest& from, const Manifest& to, int layers) {
  const auto of = [](const Manifest& m, Layer layer) { return m.policyOf(layer); };
  return addByLayer(calls, from, to, layers, of, [&](Layer layer) -> Result<SettingsCall> {
    return SettingsCall{"setPolicy", {{"policy", shortPolicy(to.policyOf(layer).toJson())}}, "policy"};
  });
}

Status addCapacity(Calls& calls, const Manifest& from, const Manifest& to, bool grows) {
  const bool more = to.capacity > from.capacity && from.capacity > 0;
  if (to.capacity == from.capacity || more != grows) return ok();
  if (to.capacity == 0)
    return refused("capacity", 0, QStringLiteral("only opening a session counts the model's context"),
                   "name the number of rows");
  calls.push_back({"setCapacity", {{"rows", to.capacity}}, "capacity"});
  return ok();
}

void addRules(Calls& calls, const json& now, const json& wanted) {
  json rules = json::object();
  for (const char* key : kRules)
    if (const json changed = besides({{key, member(wanted, key)}}, {{key, member(now, key)}}); !changed.empty())
      rules[key] = std::string_view(key) == "after_edit" ? member(wanted, key) : member(changed, key);
  if (!member(member(rules, "brightness"), "start").is_null())
    rules["brightness"]["start"] = member(member(wanted, "brightness"), "start");  // replaced as a whole
  if (!rules.empty()) calls.push_back({"setRules", rules, rules.begin().key()});
}

}  // namespace

json manifestInForce(const Snapshot& now, const json& policies) {
  json out = now.info->manifest;
  const Result<Manifest> opened = Manifest::fromJson(out);
  const std::map<int, PolicySpec> specs = policiesByLayer(policies);
  if (!opened || specs.empty()) return out;
  const auto differs = [&](const auto& one) { return one.second != specs.begin()->second; };
  if (std::none_of(specs.begin(), specs.end(), differs)) {
    out["layers"] = withoutPolicies(out["layers"]);
    out["policy"] = specs.begin()->second.toJson();
    return out;
  }
  for (const auto& [layer, spec] : specs)
    if (opened->policyOf(Layer(layer)) != spec)
      out["layers"].push_back({{"match", std::to_string(layer)}, {"policy", shortPolicy(spec.toJson())}});
  return out;
}

json shortManifest(const json& manifest) {
  const bool wlod = member(manifest, "wlod").is_object();
  const Result<Manifest> usual = Manifest::fromJson(wlod ? json{{"wlod", json::object()}} : json::object());
  json out = besides(manifest, usual->toJson());
  if (wlod && !out.contains("wlod")) out["wlod"] = json::object();
  if (out.contains("policy")) out["policy"] = shortPolicy(member(manifest, "policy"));
  out["model"] = manifest.contains("model") ? member(manifest, "model") : json("demo");
  return out;
}

QString whyFixed(const QString& key) {
  const auto among = [&](const QStringList& keys) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const QString& one) { return key == one || key.startsWith(one + '.'); });
  };
  if (among(kLiving) && !among(kKept)) return {};
  return QCoreApplication::translate("kvlab::LivingSettings", "is fixed when a session opens");
}

Result<Calls> settingsCalls(const json& now, const json& wanted, int layers) {
  const Manifest from = KV_TRY(Manifest::fromJson(now)), to = KV_TRY(Manifest::fromJson(wanted));
  const json before = from.toJson(), after = to.toJson();
  if (const auto error = changesFixed(before, after)) return *error;
  for (int layer = 0; layer < layers; ++layer)
    if (from.windowOf(Layer(layer)) != to.windowOf(Layer(layer)))
      return refused("layers", member(after, "layers"),
                     QStringLiteral("the windows of layers are fixed when a session opens"),
                     "open another session with these settings");
  Calls calls;
  KV_TRY(addCapacity(calls, from, to, true));
  KV_TRY(addLayouts(calls, from, to, layers));
  KV_TRY(addFormats(calls, from, to, layers));
  KV_TRY(addPolicies(calls, from, to, layers));
  addRules(calls, before, after);
  KV_TRY(addCapacity(calls, from, to, false));
  if (from.opEvents != to.opEvents) calls.push_back({"opEvents", {{"on", to.opEvents}}, "op_events"});
  return calls;
}

}  // namespace kvlab
