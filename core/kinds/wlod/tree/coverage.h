// SPDX-License-Identifier: Apache-2.0
// Coverage lists the rows that a query of a wLOD session attends to. `flat`: every entry before the query. `pyramid`:
// far moments through LOD2, middle moments through LOD1, near moments as entries; an entry that is at least as coarse
// replaces a summary. A query attends to each past moment exactly once, and to a node only if the node has ended. If
// summaries are near-causal, a summary attends to the moments of its own span exactly once, too. Pure; any thread.
//
// The queries of one aligned block of 32 moments share their far, middle and near rows. They differ only in the number
// of rows of their own block. A pass is therefore a list of (queries, rows), and each query attends to the first `seen`
// rows: attention over lists of rows needs no mask. semantics.md, section 8.
#pragma once
#include <vector>

#include "core/api/wlod_view.h"
#include "core/kinds/wlod/tree/working_context.h"

namespace kvlab {

enum class WlodAttention : std::uint8_t { Flat, Pyramid };

struct PyramidRules {
  std::int32_t near = 256, middle = 4096;  // moments: W and W2; rounded up to 32 and 1024
  bool nearCausal = false;                 // a summary also attends to its own span, one level finer
};

/// All rows in order of arrival: ascending ends, finer levels first. A row attends only to earlier rows. Summaries are
/// the complete nodes of LOD1 and LOD2 whose entries are all finer; `flat` has no summaries.
std::vector<WlodRow> wlodRows(const WorkingContext& context, WlodAttention attention);

/// Queries that share a list of rows; rows are indices into wlodRows().
struct QueryBlock {
  std::vector<std::int32_t> rows;     // in time order
  std::vector<std::int32_t> queries;  // ascending
  std::vector<std::int32_t> seen;     // [queries] rows that the query attends to; an entry's own row is the last
  std::vector<bool> self;             // [queries] true for summaries: the query also attends to itself
};

class Coverage {
 public:
  Coverage(const WorkingContext& context, std::span<const WlodRow> rows, WlodAttention attention,
           const PyramidRules& rules);
  /// The blocks of the given rows, which must ascend; blocks are in time order.
  std::vector<QueryBlock> blocks(std::span<const std::int32_t> queries) const;
  std::vector<QueryBlock> blocks(std::int32_t from, std::int32_t to) const;
  /// Rows that all queries of the block [begin, begin + 32) attend to; excludes rows of the block.
  std::vector<std::int32_t> past(std::int32_t begin) const;

 private:
  void addEntries(Moments moments, std::vector<std::int32_t>& out) const;
  void addSummaries(Moments moments, int level, std::vector<std::int32_t>& out) const;
  QueryBlock flat(std::span<const std::int32_t> queries) const;
  void addQuery(QueryBlock& block, std::int32_t row, std::int32_t before) const;
  bool seesSpan(const WlodRow& query) const { return m_nearCausal && !query.entry; }

  const WorkingContext& m_context;
  std::span<const WlodRow> m_rows;
  WlodAttention m_attention;
  std::int32_t m_near, m_middle;
  bool m_nearCausal;
  std::vector<std::int32_t> m_entryRows;               // [entries] row of each entry
  std::vector<std::int32_t> m_summaryRows[kTopLevel];  // [nodes] of levels 1 and 2; -1 = none
};

}  // namespace kvlab
