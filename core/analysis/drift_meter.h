// SPDX-License-Identifier: Apache-2.0
// Compares live rows with rebuilt rows, layer by layer, unrotated and as stored. One per drift pass; engine thread.
#pragma once
#include "core/analysis/rebuild.h"

namespace kvlab {

class DriftMeter {
 public:
  explicit DriftMeter(std::int32_t length) : m_length(length) {}
  /// Adds the rows of the next layer: live rows lie in `slots` of one pool, rebuilt rows in `records` of the other.
  /// Positions are those of the context and ascend. All lists are [n].
  void add(CacheLayer layer, const RowPool& live, std::span<const std::int32_t> slots, const RowPool& rebuilt,
           std::span<const std::int32_t> records, std::span<const std::int32_t> positions);
  /// Logits of the next token are compared unless one list is empty.
  Drift finish(std::span<const float> rebuilt, std::span<const float> live) &&;

 private:
  std::int32_t m_length;
  double m_worst = 0;
  Drift m_out;
};

}  // namespace kvlab
