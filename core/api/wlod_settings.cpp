// SPDX-License-Identifier: Apache-2.0
#include "core/api/wlod_settings.h"

#include "core/api/manifest_keys.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr Word<WlodRecompute> kRecomputes[] = {{"chosen", WlodRecompute::Chosen},
                                               {"incremental", WlodRecompute::Incremental},
                                               {"full", WlodRecompute::Full},
                                               {"selective", WlodRecompute::Selective}};

void readText(ManifestKeys& keys, const char* key, std::string& out) {
  keys.take(key, [&](const json& v) -> std::optional<std::string> {
    if (!v.is_string() || v.get<std::string>().empty()) return "is not a name or a file";
    out = v.get<std::string>();
    return std::nullopt;
  });
}

}  // namespace

void WlodSettings::read(ManifestKeys& keys) {
  keys.text("attention", attention, {"flat", "pyramid"});
  keys.integer("budget", budget, 64, 1 << 20);
  keys.integer("moments", moments, 0, 1 << 24);
  keys.integer("w", near, 0, 1 << 20);
  keys.integer("w2", middle, 0, 1 << 24);
  keys.real("sigma", sigma, 0, 16);
  readText(keys, "gist", gist);
  readText(keys, "lens", lens);
  keys.real("expand_at", expandAt, 0, 1);
  keys.real("collapse_at", collapseAt, 0, 1);
  keys.integer("edits", edits, 1, 1024);
  keys.integer("every", every, 1, 1 << 20);
  keys.integer("cooldown", cooldown, 0, 1024);
  keys.integer("protect", protectedTail, 0, 1 << 20);
  keys.integer("start_tokens", startTokens, 0, 1 << 20);
  keys.integer("start_gists", startGists, 0, 1 << 24);
  keys.word("recompute", recompute, kRecomputes);
  keys.real("selective_ratio", selectiveRatio, 0, 1);
  keys.real("threshold", threshold, 0, 1);
}

json WlodSettings::toJson() const {
  return {{"attention", attention},
          {"budget", budget},
          {"moments", moments},
          {"w", near},
          {"w2", middle},
          {"sigma", sigma},
          {"gist", gist},
          {"lens", lens},
          {"expand_at", expandAt},
          {"collapse_at", collapseAt},
          {"edits", edits},
          {"every", every},
          {"cooldown", cooldown},
          {"protect", protectedTail},
          {"start_tokens", startTokens},
          {"start_gists", startGists},
          {"recompute", wordOf(kRecomputes, recompute)},
          {"selective_ratio", selectiveRatio},
          {"threshold", threshold}};
}

}  // namespace kvlab
