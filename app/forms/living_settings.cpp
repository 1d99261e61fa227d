// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/living_settings.h"

#include <QCoreApplication>
#include <optional>

#include "core/api/manifest.h"
#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

Error refused(const std::string& key, const json& value, const QString& why, const char* remedy) {
  return {"bad_manifest", "the settings were not changed", why.toStdString(), remedy, key, value};
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

/// A living session has counted the model's context and rounded its rows: it takes names and numbers only.
std::optional<Error> saysNothing(const Manifest& from, const Manifest& to) {
  if (to.capacity == 0 && from.capacity != 0)
    return refused("capacity", 0, QStringLiteral("only opening a session counts the model's context"),
                   "name the number of rows");
  for (const auto& [key, old, next] : {std::tuple{"kv.k", from.kvK, to.kvK}, std::tuple{"kv.v", from.kvV, to.kvV}})
    if (next.empty() && !old.empty())
      return refused(key, nullptr, QStringLiteral("a living session converts rows to a type that has a name"),
                     "name the type, such as f32");
  return {};
}

}  // namespace

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
  if (livingKey(key.toStdString())) return {};
  return QCoreApplication::translate("kvlab::LivingSettings", "is fixed when a session opens");
}

Result<json> settingsBetween(const json& now, const json& wanted) {
  const Manifest from = KV_TRY(Manifest::fromJson(now)), to = KV_TRY(Manifest::fromJson(wanted));
  const json before = from.toJson(), after = to.toJson();
  if (const auto error = changesFixed(before, after)) return *error;
  if (const auto error = saysNothing(from, to)) return *error;
  json change = besides(after, before);
  if (change.contains("after_edit")) change["after_edit"] = member(after, "after_edit");
  if (!member(member(change, "brightness"), "start").is_null())
    change["brightness"]["start"] = member(member(after, "brightness"), "start");  // replaced as a whole
  const auto changes = [&](const char* key) { return change.contains(key); };
  if ((changes("layout") || changes("kv") || changes("policy") || changes("layers")) &&
      !(from.layers.empty() && to.layers.empty()))
    for (const char* key : {"layout", "kv", "policy", "layers"})
      if (const json& all = member(after, key); !all.is_object() || !all.empty()) change[key] = all;
  if (changes("policy")) change["policy"] = shortPolicy(member(after, "policy"));
  return change;
}

}  // namespace kvlab
