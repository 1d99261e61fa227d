// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/matrix.h"

#include "core/api/layout_names.h"
#include "core/api/manifest.h"
#include "core/api/policy_spec.h"

namespace kvlab::random_sessions {
namespace {

/// The purpose of a session.
struct Use {
  std::string name;
  json manifest;
  bool wlod = false, window = false, byHead = false;  // byHead: residency by layer is refused
};

std::vector<Use> uses() {
  std::vector<Use> out;
  for (const PolicyName& one : policies()) {
    if (one.name == "oracle") continue;  // asks for a recording of the very run
    const std::string name(one.name);
    json manifest{{"policy", name == "full" ? name : name + ":capacity=12"}};
    if (name == "smartkv") manifest["model"] = "demo";  // has gates
    out.push_back({name, std::move(manifest), false, false, name == "adakv"});
  }
  out.push_back({"window", {{"ring", {{"window", 16}}}}, false, true});
  out.push_back({"blocks", {{"ring", {{"window", 16}, {"block_tokens", 2}}}}, false, true});
  for (const char* attention : {"flat", "pyramid"})
    for (const char* policy : {"full", "h2o:budget=40"})
      out.push_back({std::string("wlod ") + attention + " " + policy,
                     {{"policy", policy},
                      {"wlod",
                       {{"attention", attention},
                        {"budget", 160},
                        {"moments", 2000},
                        {"protect", 16},
                        {"cooldown", 0},
                        {"lens", "attention"}}}},
                     true});
  return out;
}

std::vector<int> someIds(int count) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(20 + i * 37 % 180);
  return out;
}

/// The steps that check every session after its own calls.
std::vector<Step> oracles() {
  return {{"#save", {"native", true}},
          {"#cap", json::array()},
          {"#fork", json::array()},
          {"#fault", {"allocation", "step", {{"n", 1}}}},
          {"#fault", {"kernel", "apply", json::object()}},
          {"#fault", {"copy", "step", {{"n", 1}}}},
          {"#travel", json::array()},
          {"#reset", json::array()},
          {"undo"},
          {"undo"},
          {"redo"},
          {"step", {{"tokens", {41}}}},
          {"rebuild"},
          {"step", {{"n", 2}}}};
}

std::vector<Step> stepsOf(const Use& use) {
  std::vector<Step> out;
  const auto inject = [&](const json& actions) { out.push_back({"inject", {{"actions", actions}}}); };
  if (use.wlod) {
    out = {{"promptIds", {{"ids", someIds(120)}}},
           {"collapse", {{"node", 1}, {"now", true}}},
           {"collapse", {{"node", 32 * 4 + 1}, {"now", true}}},
           {"step", {{"n", 3}}},
           {"expand", {{"node", 1}, {"now", true}}},
           {"speculate", {{"tokens", {30, 31}}}},
           {"rollback"}};
    inject({{{"action", "replace_pair"}, {"original_pos1", 100}, {"original_pos2", 101}, {"new_token_ids", {50}}}});
  } else {
    out = {{"promptIds", {{"ids", someIds(30)}}}, {"step", {{"n", 2}}}, {"step", {{"tokens", {33}}}}};
    inject({{{"action", "replace_pair"}, {"original_pos1", 20}, {"original_pos2", 21}, {"new_token_ids", {50}}},
            {{"action", "delete"}, {"position", 24}},
            {{"action", "insert"}, {"position", 27}, {"token_ids", {60, 61}}}});
  }
  out.push_back({"step", {{"n", 1}}});
  inject({{{"action", "add"}, {"token_id", 70}}});
  const std::vector<Step> all = oracles();
  out.insert(out.end(), all.begin(), all.end());
  return out;
}

MatrixCell cellOf(const Use& use, std::string_view layout, std::string_view type, bool byHead) {
  json manifest{{"model", "synthetic:tiny:layers=3"},
                {"threads", 1},
                {"layout", layout == "paged" ? "paged:block=4" : std::string(layout)},
                {"kv", {{"k", type}, {"v", type}}},
                {"residency", byHead ? "kv_head" : "layer"},
                {"history_bytes", 1 << 20}};
  if (!use.wlod) manifest["capacity"] = 64;
  manifest.update(use.manifest);
  const bool ring = layout.starts_with("ring");
  return {{std::move(manifest), stepsOf(use)},
          use.name + ", " + std::string(type) + ", " + (byHead ? "kv_head" : "layer") +
              (use.window ? (ring ? ", ring" : ", no ring") : "")};
}

}  // namespace

std::vector<MatrixCell> matrixCells(bool whole) {
  std::vector<MatrixCell> out;
  const std::vector<Use> all = uses();
  for (std::size_t use = 0; use < all.size(); ++use)
    for (std::size_t type = 0; type < rowTypes().size(); ++type)
      for (const bool byHead : {false, true}) {
        if (all[use].byHead && !byHead) continue;
        if (!whole && (type != use % rowTypes().size() || byHead != (use % 2 == 1 || all[use].byHead))) continue;
        for (const LayoutName& layout : layouts())
          out.push_back(cellOf(all[use], layout.name, rowTypes()[type], byHead));
      }
  return out;
}

}  // namespace kvlab::random_sessions
