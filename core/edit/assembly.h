// SPDX-License-Identifier: Apache-2.0
// Plans the contiguous copies that attention reads in layouts that do not read the pool in place: for each chunk of
// queries and group of layers, which records go where. The copies are made by ops, in each layer after its new rows are
// written. Whole records are copied, so each row keeps its scale. Lives as long as a pass; engine thread. semantics.md,
// section 7.
#pragma once
#include <deque>
#include <vector>

#include "core/edit/group_pass.h"
#include "core/model/decoder/transformer.h"
#include "kernels/backend/staging.h"

namespace kvlab {

class Assemblies {
 public:
  explicit Assemblies(kernels::Staging& staging) : m_staging(staging) {}

  /// Plans the copy that a chunk [begin, begin+n) of a pass reads in layers of `group`, whose records have `format`.
  /// rows: number of rows that attention counts, which is the length of the slot list. targets: [n] the chunk's rows.
  /// self: [n] slots of rows that the map lacks, -1 for other rows; or null.
  Assembled make(const LayerGroup& group, const GroupPass& pass, std::int64_t begin, std::int64_t n, std::int64_t rows,
                 const kernels::RowFormat& format, const RowTarget* targets, const std::int32_t* self, bool guarded);
  /// A counter for one more layer, where the guard counts rows with a wrong tag.
  std::int64_t* counter() { return m_staging.inOut(&m_wrong.emplace_back(0), 1); }
  /// Sum of all counters. Call after the staging has finished.
  std::int64_t wrong() const;

 private:
  struct Lists {
    std::vector<std::int32_t> slots, self, from, to, seen;
    std::vector<std::uint64_t> tags, seenTags;
    std::vector<kernels::RowMove> moves;
  };
  static void rollBlocks(Lists& lists, const RingState& ring, std::int32_t rows);
  static void takeInOrder(Lists& lists);
  static void joinMoves(Lists& lists);
  void dequantise(Assembled& out, const Lists& lists, const LayerGroup& group);

  kernels::Staging& m_staging;
  std::deque<Lists> m_lists;  // a deque keeps addresses valid
  std::deque<std::int64_t> m_wrong;
};

}  // namespace kvlab
