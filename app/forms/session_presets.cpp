// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/session_presets.h"

#include <QCoreApplication>
#include <QSettings>

namespace kvlab {

using nlohmann::json;

namespace {

constexpr const char* kPlace = "presets";  // {NAME: manifest} as JSON

struct Shipped {
  const char *name, *manifest;
};
constexpr Shipped kShipped[] = {
    {"Plain", R"({"model":"demo"})"},
    {"Ring of 64 rows, V in int8", R"({"model":"demo","layout":"ring_fused","ring":{"window":64},"kv":{"v":"int8"}})"},
    {"Sinks and the last rows (StreamingLLM)",
     R"({"model":"demo","policy":{"name":"streaming_llm","sinks":4,"window":60}})"},
    {"SmartKV at 25 %", R"({"model":"demo","policy":{"name":"smartkv","ratio":0.25}})"},
    {"wLOD, 512 entries", R"({"model":"demo","wlod":{"budget":512,"gist":"trained"}})"},
    {"Brightness and culling", R"({"model":"demo","brightness":{"compressor":"nearest","target":500}})"}};

json ownPresets() {
  const json kept = json::parse(QSettings().value(kPlace).toString().toStdString(), nullptr, false);
  return kept.is_object() ? kept : json::object();
}

void keep(const json& own) { QSettings().setValue(kPlace, QString::fromStdString(own.dump())); }

}  // namespace

std::vector<SessionPreset> sessionPresets(bool withOwn) {
  std::vector<SessionPreset> out;
  for (const Shipped& one : kShipped)
    out.push_back({QCoreApplication::translate("kvlab::SessionPresets", one.name), json::parse(one.manifest)});
  if (!withOwn) return out;
  const json own = ownPresets();
  for (const auto& [name, manifest] : own.items())
    if (manifest.is_object()) out.push_back({QString::fromStdString(name), manifest, true});
  return out;
}

void savePreset(const QString& name, const json& manifest) {
  json own = ownPresets();
  own[name.toStdString()] = manifest;
  keep(own);
}

void removePreset(const QString& name) {
  json own = ownPresets();
  own.erase(name.toStdString());
  keep(own);
}

}  // namespace kvlab
