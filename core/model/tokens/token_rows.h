// SPDX-License-Identifier: Apache-2.0
// Tokens that a tokenizer has and the model's embedding does not: tokens were added, and the embedding was not resized.
// Any thread.
#pragma once
#include <span>
#include <string>

#include "core/model/tokens/tokenizer.h"

namespace kvlab {

/// Error bad_token, with the token's text, for the first id without a row. rows: number of rows of the embedding.
Status checkRows(const Tokenizer& tokenizer, std::span<const TokenId> ids, std::int32_t rows);
/// "401 (<|im_end|>), 402 (..) and 3 more"; empty where every token has a row.
std::string tokensWithoutRow(const Tokenizer& tokenizer, std::int32_t rows);

}  // namespace kvlab
