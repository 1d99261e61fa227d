// SPDX-License-Identifier: Apache-2.0
// Sums first and second moments of each layer's queries during a pass. Queries are projected a second time, without
// rotation, and summed on the host. One per pass; engine thread.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/edit/group_pass.h"
#include "core/model/decoder/transformer.h"
#include "core/state/policy_state.h"

namespace kvlab {

class MomentSums {
 public:
  /// Rows before position `from` are skipped.
  MomentSums(Transformer& transformer, std::int32_t from);
  /// x: [rows, hidden] input of layer l, an address of the backend.
  void add(Layer l, const float* x, std::span<const RowTarget> rows);
  /// Moments by layer, [layers]; zero if no row was counted.
  std::vector<std::shared_ptr<const QueryMoments>> take();

 private:
  Transformer& m_transformer;
  std::int32_t m_from;
  std::vector<QueryMoments> m_sums;    // [layers]; of the squares the upper half
  std::vector<std::int64_t> m_counts;  // [layers]
};

}  // namespace kvlab
