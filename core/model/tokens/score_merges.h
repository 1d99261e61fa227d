// SPDX-License-Identifier: Apache-2.0
// The merges that a SentencePiece vocabulary implies: a token may be made of any two that it can be cut into, the token
// of the highest score first. Tokens of the user come before all others, as SentencePiece finds them first. Values; any
// thread.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/model/tokens/merges.h"

namespace kvlab::bpe {

struct ScoredTokens {
  std::span<const std::string> tokens;  // [size]
  std::span<const float> scores;        // [size], finite
  std::vector<bool> joins;              // [size] whether merges may make the token or take it
  std::vector<bool> first;              // [size] tokens of the user
};

/// Adds them to a model of the same tokens. False where the tokens are so long that it would take too much work.
bool addScoreMerges(const ScoredTokens& in, BpeModel& model);

}  // namespace kvlab::bpe
