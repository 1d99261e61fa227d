// SPDX-License-Identifier: Apache-2.0
// The progress of a tick that was stopped inside, and its decisions so far. Values; any thread.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/api/action.h"
#include "core/api/json_values.h"

namespace kvlab {

/// Last finished stage of a tick, core/architecture.md, "The tick". A block makes all but Prune and Apply once for each
/// token.
enum class Stage : std::uint8_t {
  Generate,   // the token is known
  Observe,    // brightness has taken over the attention of the last pass
  Plan,       // the list of actions is complete and planned
  OneAction,  // one more action of the list is shown in the context; no row is computed yet
  Token,      // a token of a block is computed and waits for the commit
  Prune,      // policies have decided about the computed rows; no row has left yet
  Apply,      // the commit is made; it is not verified yet
};

inline constexpr std::string_view kStages[] = {"generate", "observe", "plan", "action", "token", "prune", "apply"};
constexpr std::string_view name(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }

struct StageView {
  Stage stage = Stage::Generate;
  std::string_view next;           // a stage, or verify
  std::vector<TokenId> tokens;     // tokens of the tick so far, generated or given
  std::vector<Action> actions;     // actions of the tick so far, with those of culling and of policies
  std::int32_t shown = 0, of = 0;  // stages plan and action: actions that `context` shows, and all
  std::vector<LedgerId> context;   // with the shown actions, or with the computed tokens that wait
};

inline nlohmann::json toJson(const StageView& view) {
  return {
      {"stage", name(view.stage)}, {"next", view.next}, {"tokens", view.tokens},  {"actions", listJson(view.actions)},
      {"shown", view.shown},       {"of", view.of},     {"context", view.context}};
}

}  // namespace kvlab
