// SPDX-License-Identifier: Apache-2.0
// Compares live rows with rebuilt ones, layer by layer, unrotated, as stored. One per drift pass; engine thread.
#pragma once
#include "core/analysis/rebuild.h"

namespace kvlab {

class DriftMeter {
 public:
  explicit DriftMeter(std::int32_t length) : m_length(length) {}
  /// Rows of the next layer: live in `slots` of one pool, rebuilt in `records` of the other, at ascending context
  /// positions. [n] each.
  void add(int layer, const RowPool& live, std::span<const std::int32_t> slots, const RowPool& rebuilt,
           std::span<const std::int32_t> records, std::span<const std::int32_t> positions);
  /// logits: of the next token; not compared where one is empty.
  Drift finish(std::span<const float> rebuilt, std::span<const float> live) &&;

 private:
  std::int32_t m_length;
  double m_worst = 0;
  Drift m_out;
};

}  // namespace kvlab
