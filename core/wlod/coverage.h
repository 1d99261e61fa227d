// SPDX-License-Identifier: Apache-2.0
// Coverage says which rows a query of a wLOD session looks at. `flat`: every entry before the query. `pyramid`: far
// moments through LOD2, middle moments through LOD1, near moments as entries; an entry at least as coarse stands for
// a summary. A query sees each past moment exactly once, and a node only if the node has ended. Pure; any thread.
//
// The queries of one aligned block of 32 moments share their far, middle and near rows; they differ only in how
// many rows of their own block come before them. A pass is therefore a list of (queries, rows), and a query looks at
// the first `seen` of the rows: attention over lists of rows needs no mask. semantics.md, section 8.
#pragma once
#include <vector>

#include "core/api/wlod_view.h"
#include "core/wlod/working_context.h"

namespace kvlab {

enum class WlodAttention : std::uint8_t { Flat, Pyramid };

struct PyramidRules {
  std::int32_t near = 256, middle = 4096;  // moments: W and W2; rounded up to 32 and 1024
};

/// All rows in order of arrival: by their ends, the finer before the coarser. A row sees only earlier rows.
/// Summaries are the complete nodes of LOD1 and LOD2 under which every entry is finer; `flat` has no summaries.
std::vector<WlodRow> wlodRows(const WorkingContext& context, WlodAttention attention);

/// Queries that share a list of rows; rows are numbers of wlodRows().
struct QueryBlock {
  std::vector<std::int32_t> rows;     // in time order
  std::vector<std::int32_t> queries;  // ascending
  std::vector<std::int32_t> seen;     // [queries] rows that the query looks at; an entry's own row is the last of these
  std::vector<bool> self;             // [queries] the query also looks at itself: a summary
};

class Coverage {
 public:
  Coverage(const WorkingContext& context, std::span<const WlodRow> rows, WlodAttention attention,
           const PyramidRules& rules);
  /// The blocks of the given rows, which ascend; blocks stand in time order.
  std::vector<QueryBlock> blocks(std::span<const std::int32_t> queries) const;
  std::vector<QueryBlock> blocks(std::int32_t from, std::int32_t to) const;
  /// The rows that queries of the block of moments [begin, begin + 32) share; no row of the block itself.
  std::vector<std::int32_t> past(std::int32_t begin) const;

 private:
  void addEntries(Moments moments, std::vector<std::int32_t>& out) const;
  void addSummaries(Moments moments, int level, std::vector<std::int32_t>& out) const;
  QueryBlock flat(std::span<const std::int32_t> queries) const;
  void addQuery(QueryBlock& block, std::int32_t row, std::int32_t before) const;

  const WorkingContext& m_context;
  std::span<const WlodRow> m_rows;
  WlodAttention m_attention;
  std::int32_t m_near, m_middle;
  std::vector<std::int32_t> m_entryRows;               // [entries] number of each entry's row
  std::vector<std::int32_t> m_summaryRows[kTopLevel];  // [nodes] of levels 1 and 2; -1 = none
};

}  // namespace kvlab
