// SPDX-License-Identifier: Apache-2.0
// Rows that an edit kept: which row of the text before it each row of the cache is. Tokens alone do not tell where a
// text repeats itself, so rows decide. Pure; any thread.
#pragma once
#include <vector>

#include "core/explain/engine_hypotheses.h"

namespace kvlab {

/// For each token of the text its token in the text before the edit, ascending; -1 = its row was computed later.
/// before: rows of the text before the edit, of all layers. Empty where rows do not tell: the file's values are not
/// read as the model lays them out.
std::vector<std::int32_t> keptTokens(const HypothesisRoom& room, const TokenRows& before);

/// What an edit did.
struct EditBetween {
  std::int32_t first = 0;                 // the first token that is not as before
  std::vector<std::int32_t> gone, fresh;  // tokens of the text before it that went; tokens whose rows are of later
};
/// kept: as keptTokens() says. A token whose row was computed again at its place is fresh, and did not go.
EditBetween editBetween(const std::vector<std::int32_t>& kept, std::span<const TokenId> now,
                        std::span<const TokenId> before);

}  // namespace kvlab
