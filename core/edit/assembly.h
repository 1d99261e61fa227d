// SPDX-License-Identifier: Apache-2.0
// Plans the contiguous copies that attention reads in layouts that do not read the pool in place: for each chunk of
// queries and group of layers, which records go where. The copies are made by ops, in each layer after its new rows are
// written. Whole records are copied, so each row keeps its scale. Lives as long as a pass; engine thread. semantics.md,
// section 7.
// A window whose rows lie in the order of the ring is copied by lists that are there already (core/state/ring_reads.h).
#pragma once
#include <deque>
#include <vector>

#include "core/edit/group_pass.h"
#include "core/model/decoder/transformer.h"
#include "core/state/ring_reads.h"
#include "kernels/backend/staging.h"

namespace kvlab {

/// Rows [begin, begin + n) of a pass, which read a copy together.
struct AssemblyChunk {
  std::int64_t begin = 0, n = 0;
  std::int64_t rows = 0;               // that attention counts: the length of the slot list
  const RowTarget* targets = nullptr;  // [n] the chunk's rows
  const std::int32_t* self = nullptr;  // [n] slots of rows that the map lacks, -1 for other rows; or null
  bool guarded = false;
  bool bent = false;  // a planted bug may let queries see rows that the chunk does not
};

class Assemblies {
 public:
  Assemblies(kernels::Backend& backend, kernels::Staging& staging, RingReads& reads)
      : m_backend(backend), m_staging(staging), m_reads(reads) {}

  /// Plans the copy that a chunk of a pass reads in layers of `group`, whose records have `format`. number: of the
  /// group.
  Assembled make(std::size_t number, const LayerGroup& group, const GroupPass& pass, const kernels::RowFormat& format,
                 const AssemblyChunk& chunk);
  /// Slots of the rows of the last copy, in its order. Two where they lie in the order of a ring.
  const std::vector<RingRun>& runs() const { return m_runs; }
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
  /// Indices of the map.
  struct Span {
    std::int32_t first = 0, last = 0;
    std::int32_t rows() const { return last - first; }
  };
  /// Rows that are dequantised, as Assembled has them.
  struct Values {
    std::int64_t rows = 0;
    const std::int32_t *from = nullptr, *to = nullptr;
    const std::uint64_t* tags = nullptr;
  };
  static Span seenBy(const LayerGroup& group, const GroupPass& pass, const AssemblyChunk& chunk);
  static void rollBlocks(Lists& lists, const RingState& ring, std::int32_t rows);
  static void takeInOrder(Lists& lists);
  static void joinMoves(Lists& lists);
  void takeHeld(Assembled& out, const LayerGroup& group, Span span, const AssemblyChunk& chunk);
  void takeListed(Assembled& out, const LayerGroup& group, Span span, bool rolls, const AssemblyChunk& chunk);
  void takeMoves(Assembled& out, const Lists& lists, std::int64_t rows);
  void dequantise(Assembled& out, const Values& values);
  void makeRoom(Assembled& out);

  kernels::Backend& m_backend;
  kernels::Staging& m_staging;
  RingReads& m_reads;
  std::deque<Lists> m_lists;  // a deque keeps addresses valid
  std::deque<std::int64_t> m_wrong;
  std::vector<RingRun> m_runs;
};

}  // namespace kvlab
