// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/manifests.h"

#include <set>

#include "core/api/layout_names.h"
#include "core/api/manifest.h"

namespace kvlab::random_sessions {
namespace {

void drawNumbers(Draw& d, json& m) {
  m["model"] = d.percent(30)
      ? "demo"
      : d.one({"synthetic:tiny:layers=3", "synthetic:tiny:layers=3", "synthetic:tiny-gemma:layers=3",
               "synthetic:tiny-nope:layers=3", "synthetic:tiny-moe:layers=3", "synthetic:tiny-odd:layers=3"});
  m["threads"] = d.percent(90) ? 1 : 2;
  if (d.percent(10)) m["backend"] = "cpu";
  if (d.percent(8)) m["weights"] = "int8";
  if (d.percent(10)) m["numerics"] = "portable-bf16";
  if (d.percent(40)) m["dtype"] = d.one({"f32", "f16", "bf16"});
  if (d.percent(50)) m["kv"] = {{"k", drawRowType(d)}, {"v", drawRowType(d)}};
  if (d.percent(50))
    m["sampling"] = {{"temperature", d.one({0.0, 0.9})},
                     {"top_k", d.one({0, 20})},
                     {"top_p", d.one({1.0, 0.8})},
                     {"repetition_penalty", d.one({1.0, 1.0, 1.3})},
                     {"seed", d.one({0, 1, 99})}};
}

void drawRoom(Draw& d, json& m) {
  m["staging"] = d.one({4, 16, 64, 64});
  m["history_bytes"] = d.one({0, 4096, 1 << 20, 1 << 24});
  m["prefill_chunk"] = d.one({1, 3, 16, 512});
  m["check"] = {{"level", d.one({"off", "cheap", "full"})}, {"scrub_period", d.one({1, 4, 64})}};
  m["executor"] = d.one({"batch", "batch", "descending"});
  if (d.percent(25)) m["guards"] = true;
  if (d.percent(8)) m["op_events"] = true;
  if (d.percent(5)) m["faults"] = true;
}

json drawBrightness(Draw& d) {
  json out{{"decay", d.one({2, 20})},          {"gain", d.one({10, 1})},
           {"max", d.one({255, 40})},          {"target", d.one({5, 20, 40})},
           {"min_cosine", d.one({-1.0, 0.2})}, {"compressor", d.one({"off", "off", "nearest", "outside"})}};
  if (d.percent(20)) out["start"] = {{"prompt", 30}, {"model", 9}};
  return out;
}

json drawOverride(Draw& d) {
  json out{{"match", d.one({"0", "0-1", "1-2", "2"})}};
  if (d.percent(50)) out["layout"] = drawLayout(d);
  if (d.percent(40)) out["kv"] = {{"k", drawRowType(d)}};
  if (d.percent(30)) out["window"] = d.one({0, 7, 20});
  if (d.percent(20)) out["policy"] = drawPolicy(d);
  return out;
}

void drawPlain(Draw& d, json& m) {
  m["layout"] = drawLayout(d);
  m["capacity"] = d.one({12, 24, 48, 64, 200});
  m["position"] = d.one({"context", "context", "absolute", "cache"});
  if (m["position"] == "absolute") m["absolute_overflow"] = d.one({"shift", "refuse"});
  if (d.percent(20)) m["key_phase"] = "at_write";
  if (d.percent(40)) m["after_edit"] = d.one<json>({"keep", "recompute", {{"selective", {{"ratio", 0.3}}}}});
  if (d.percent(12)) m["new_rows"] = "embedding_only";
  if (d.percent(25)) m["residency"] = d.one({"kv_head", "kv_head", "layer", "auto"});
  if (d.percent(30)) m["policy"] = drawPolicy(d);
  if (d.percent(25)) m["layers"] = json::array({drawOverride(d)});
  if (d.percent(45))
    m["ring"] = {
        {"window", d.one({0, 7, 16, 20})}, {"block_tokens", d.one({1, 1, 2, 3})}, {"tail_only", d.percent(30)}};
  if (d.percent(45)) m["brightness"] = drawBrightness(d);
  if (d.percent(5)) m["probes"] = false;
}

void drawWlod(Draw& d, json& m) {
  m["layout"] = drawLayout(d);
  if (d.percent(25)) m["residency"] = d.one({"kv_head", "auto"});
  if (d.percent(25)) m["layers"] = json::array({{{"match", d.one({"0", "1-2"})}, {"window", d.one({7, 40, 200})}}});
  if (d.percent(40)) m["policy"] = drawPolicy(d);
  if (d.percent(40)) m["ring"] = {{"window", d.one({7, 20, 60})}};
  if (d.percent(15) && m.contains("layers")) m["layers"][0]["policy"] = drawPolicy(d);
  if (d.percent(20)) m["brightness"] = {{"decay", 20}, {"max", 40}};
  m["wlod"] = {
      {"attention", d.one({"flat", "pyramid"})},
      {"budget", d.one({64, 96, 160})},
      {"moments", d.one({2000, 4096})},
      {"w", 32},
      {"w2", 1024},
      {"near_causal", d.percent(40)},
      {"sigma", d.one({0.0, 1.0})},
      {"gist", m["model"] == "demo" ? d.one({"mean", "trained"}) : "mean"},
      {"lens",
       m["model"] == "demo" ? d.one({"attention", "script", "off", "trained"}) : d.one({"attention", "script", "off"})},
      {"edits", d.one({1, 4})},
      {"every", d.one({4, 32})},
      {"cooldown", d.one({0, 1, 2})},
      {"protect", d.one({8, 32})},
      {"start_tokens", d.one({16, 32})},
      {"start_gists", d.one({128, 2048})},
      {"recompute", d.one({"chosen", "incremental", "full", "selective", "keep"})},
      {"selective_ratio", 0.3},
      {"keep_drift", d.one({0.0, 0.1, 16.0})},
      {"threshold", d.one({0.2, 0.7})}};
  if (m["wlod"]["attention"] == "flat") m["wlod"]["near_causal"] = false;  // refused with true
}

}  // namespace

std::string drawLayout(Draw& draw) {
  const auto all = layouts();
  std::string name(all[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(all.size())))].name);
  if (name == "paged") name += ":block=" + std::to_string(draw.one({4, 16}));
  return draw.percent(20) ? "indirection" : name;
}

std::string drawRowType(Draw& draw) {
  const auto all = rowTypes();
  return std::string(all[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(all.size())))]);
}

json drawPolicy(Draw& draw) {
  std::vector<std::string> names;
  for (const PolicyName& one : policies()) names.emplace_back(one.name);
  const std::string keys =
      draw.one<std::string>({":capacity=8", ":capacity=12", ":ratio=0.5", ":sinks=2,window=6", ":budget=4,window=5"});
  const std::string& name = draw.one(names);
  std::vector<std::string> presets{""};
  for (const PolicyPreset& one : policyPresets())
    if (one.policy == name) presets.push_back(",preset=" + std::string(one.name));
  return name == "full" ? name : name + keys + draw.one(presets);
}

json drawManifest(Draw& draw) {
  json m = json::object();
  drawNumbers(draw, m);
  drawRoom(draw, m);
  if (draw.percent(20)) drawWlod(draw, m);
  else drawPlain(draw, m);
  return m;
}

std::vector<std::string> undrawnKeys() {
  std::set<std::string> drawn;
  Draw draw(1);
  for (int i = 0; i < 1000; ++i) {
    const json manifest = drawManifest(draw);
    for (const auto& [key, value] : manifest.items()) drawn.insert(key);
  }
  std::vector<std::string> out;
  const json all = Manifest{}.toJson();
  for (const auto& [key, value] : all.items())
    if (!drawn.contains(key)) out.push_back(key);
  return out;
}

}  // namespace kvlab::random_sessions
