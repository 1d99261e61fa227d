// SPDX-License-Identifier: Apache-2.0
// wLOD sessions for tests: manifests, drift, and random edits.
#pragma once
#include "core/kinds/wlod/state/wlod_state.h"
#include "core/session/truth.h"
#include "support/session_fixture.h"

namespace kvlab {

inline json manifest(const json& wlod, const json& more = json::object()) {
  json out{{"capacity", 0}, {"wlod", wlod}, {"sampling", {{"temperature", 0.8}, {"seed", 7}}}};
  out.update(more);
  return out;
}

inline std::int64_t id(int level, int start) { return TreeNode{level, start}.id().value(); }

/// Drift against a rebuild, in every layer and in the next token.
inline double drift(const SessionFixture& s) {
  const json measured = s.must("drift");
  double worst = measured.at("kl").get<double>();
  for (const char* side : {"k", "v"})
    for (const json& layer : measured.at(side)) worst = std::max(worst, layer.get<double>());
  return worst;
}

/// One random edit that may be refused; the name of the verb, and the moment from which on things may change.
inline std::pair<std::string, json> randomEdit(const SessionFixture& s, std::mt19937& random) {
  const WlodState& state = wlodIn(s->state());
  const auto pick = [&](std::int32_t n) {
    return n > 0 ? static_cast<std::int32_t>(random() % static_cast<unsigned>(n)) : 0;
  };
  if (state.context.cost() == 0) return {"redo", json::object()};
  const TreeNode entry = state.context.entries()[static_cast<std::size_t>(pick(state.context.cost()))];
  switch (random() % 9) {
    case 0: return {"expand", {{"node", entry.id().value()}, {"now", true}}};
    case 1: return {"collapse", {{"node", entry.at(std::min(entry.level + 1, kTopLevel)).id().value()}, {"now", true}}};
    case 2: return {"promptIds", {{"ids", SessionFixture::ids(1 + pick(40), static_cast<unsigned>(random()))}}};
    case 3: return {"step", {{"n", 1 + pick(3)}}};
    case 4: return {"refocus", json::object()};
    case 5: return {"undo", json::object()};
    case 6: {
      const std::int32_t position = pick(state.context.cost());
      return {"inject",
              {{"actions", {{{"action", "replace"}, {"positions", {position}}, {"new_token_ids", {3 + pick(200)}}}}}}};
    }
    case 7: {
      const std::int32_t position = pick(state.context.cost());
      std::vector<int> tokens(static_cast<std::size_t>(1 + pick(4)), 9);
      return {
          "inject",
          {{"actions", {{{"action", "replace"}, {"positions", {position}}, {"new_token_ids", std::move(tokens)}}}}}};
    }
    default: {
      const std::int32_t tail = state.context.cost() - 1 - pick(4);
      return {"inject", {{"actions", {{{"action", "delete"}, {"position", tail}}}}}};
    }
  }
}

}  // namespace kvlab
