// SPDX-License-Identifier: Apache-2.0
// Which token each row of a layer belongs to: guesses from what a file says, and a text that is read off the rows where
// none of them fits. Pure; any thread.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/explain/reading.h"
#include "core/foreign/foreign_cache.h"

namespace kvlab {

/// Guesses for a layer, the likeliest first; never empty.
std::vector<RowPlaces> likelyPlaces(const ForeignLayer& layer, std::int64_t tokens);

/// Rows of a layer that lacks some tokens in its middle, as evictions leave it: each row takes the nearest token behind
/// the one before. theirs, ours: values, [rows, width] and [tokens, width]. Empty where a row is near none.
std::optional<RowPlaces> placesWithHoles(std::span<const float> theirs, std::span<const float> ours, std::size_t width);

/// Rows in the order of the context: by position where the file says them, else as they lie. [rows]
std::vector<std::int32_t> contextOrder(const ForeignLayer& layer);

/// A text that rows tell, where it is not that of the file.
struct TextOfRows {
  std::vector<std::int32_t> tokens;  // [rows] index in the text of the file; -1 = the row is of no token in order
  std::vector<TokenId> ids;          // [rows] token that the row was made of; -1 = of no token of the text
  std::size_t matched = 0;           // rows that have a token in order
};
/// near: [rows] tokens whose row it is (nearTokens). Longest common subsequence of rows in order and text.
TextOfRows textOfRows(const std::vector<std::vector<std::int32_t>>& near, const std::vector<std::int32_t>& order,
                      std::span<const TokenId> ids);

/// For each token of `now` its token in `before`, in order; -1 = it is new. [now]
std::vector<std::int32_t> commonTokens(std::span<const TokenId> now, std::span<const TokenId> before);
/// The same of texts of so many tokens, where `same` says what they have in common.
std::vector<std::int32_t> commonTokens(std::size_t now, std::size_t before,
                                       const std::function<bool(std::size_t now, std::size_t before)>& same);

/// "3, 5 to 7"
std::string rangeWords(const std::vector<std::int32_t>& ascending);

}  // namespace kvlab
