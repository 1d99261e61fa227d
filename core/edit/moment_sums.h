// SPDX-License-Identifier: Apache-2.0
// First and second moments of each layer's queries while a pass runs: the queries are projected a second time,
// before rotation, and summed on the host. One per pass; engine thread.
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
  /// Rows before position `from` do not count.
  MomentSums(Transformer& transformer, std::int32_t from);
  /// x [rows, hidden]: what layer l reads, an address of the back end.
  void add(Layer l, const float* x, std::span<const RowTarget> rows);
  /// [layers]; all zero where no row counted.
  std::vector<std::shared_ptr<const QueryMoments>> take();

 private:
  Transformer& m_transformer;
  std::int32_t m_from;
  std::vector<QueryMoments> m_sums;    // [layers]
  std::vector<std::int64_t> m_counts;  // [layers]
};

}  // namespace kvlab
