// SPDX-License-Identifier: Apache-2.0
// Requests to change the context or a residency map. Policies, scripts, the user and files all speak in actions, and
// one place applies them. semantics.md, section 3, says what each action means. Values; any thread.
#pragma once
#include <optional>
#include <variant>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"

namespace kvlab {

struct ReplacePair {
  Position originalPos1, originalPos2;
  std::vector<TokenId> newTokenIds;
};
struct Replace {
  std::vector<Position> positions;
  std::vector<TokenId> newTokenIds;
};
struct Add {
  TokenId tokenId;
};
struct Delete {
  Position position;
};
struct Insert {
  Position position;  // before this position; length = at the end
  std::vector<TokenId> tokenIds;
};
struct Evict {
  Layer layer;
  std::optional<Head> kvHead;
  std::vector<LedgerId> ledger;
};
struct Expand {
  NodeId node;
};
struct Collapse {
  NodeId node;
};
using Action = std::variant<ReplacePair, Replace, Add, Delete, Insert, Evict, Expand, Collapse>;

/// Tokens that an action brings.
std::size_t newTokens(const Action& action);

/// {"action":"replace_pair","original_pos1":48,"original_pos2":49,"new_token_ids":[13319]}; semantics.md,
/// section 3, names the fields.
nlohmann::json toJson(const Action& action);
/// Errors (code bad_action) name the action's place in the list, the field and the value. The reader checks the form;
/// the planner checks ranges.
Result<Action> actionFromJson(const nlohmann::json& json, int place);
Result<std::vector<Action>> actionsFromJson(const nlohmann::json& list);

}  // namespace kvlab
