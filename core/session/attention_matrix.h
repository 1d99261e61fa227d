// SPDX-License-Identifier: Apache-2.0
// Attention of chosen queries over the resident rows of a cache layer, by query head. Each query is asked once more
// over the rows that the session holds now, in a read-only pass of its own. Engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

/// Most values that one call returns: heads * queries * tokens of the context.
inline constexpr std::int64_t kMostAttention = std::int64_t{1} << 22;

/// A value; any thread.
struct AttentionMatrix {
  std::vector<int> heads;     // query heads of the cache layer, ascending
  std::int32_t begin = 0;     // context position of the first query
  std::int32_t queries = 0;   // at begin, begin + 1, ...
  std::int32_t length = 0;    // tokens of the context
  std::vector<float> values;  // [heads][queries][length] not-a-number: not resident, or the query is a summary's
  std::vector<float> own;     // [heads][queries] on the query's own row where the layer does not hold this row, else 0
};

/// Queries at context positions [begin, end). head: one query head of the cache layer; none = all. The session does not
/// change. Errors: empty (no token), too_large, cancelled, broken, staging, device.
Result<AttentionMatrix> attentionMatrix(Session& session, CacheLayer layer, std::optional<int> head, std::int32_t begin,
                                        std::int32_t end);

}  // namespace kvlab
