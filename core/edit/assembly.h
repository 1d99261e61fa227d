// SPDX-License-Identifier: Apache-2.0
// The contiguous copies that attention reads in layouts which do not read the ring in place: for each
// chunk of queries and group of layers, which records go where. The copies themselves are ops, made anew
// in each layer after its new rows are written. Records travel whole, so a scale cannot part from its
// row. Lives as long as a pass; engine thread. semantics.md, section 7.
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

  /// What a chunk [begin, begin+n) of a pass reads in layers of `group`, whose records have `format`.
  /// `rows`: that attention counts; a list of slots is as long. targets: [n] the chunk's rows; self: [n] slots of rows
  /// that the map lacks, -1 where it has them; or null.
  Assembled make(const LayerGroup& group, const GroupPass& pass, std::int64_t begin, std::int64_t n, std::int64_t rows,
                 const kernels::RowFormat& format, const RowTarget* targets, const std::int32_t* self, bool guarded);
  /// Where one more layer counts the rows that its guard finds wrong.
  std::int64_t* counter() { return m_staging.inOut(&m_wrong.emplace_back(0), 1); }
  /// All of them, after the staging has finished.
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
  std::deque<Lists> m_lists;  // addresses stay
  std::deque<std::int64_t> m_wrong;
};

}  // namespace kvlab
