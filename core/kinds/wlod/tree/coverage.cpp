// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/coverage.h"

#include <algorithm>
#include <map>

namespace kvlab {
namespace {

std::int32_t roundedUp(std::int32_t moments, std::int32_t to) { return (moments + to - 1) / to * to; }

}  // namespace

std::vector<WlodRow> wlodRows(const WorkingContext& context, WlodAttention attention) {
  std::vector<WlodRow> out;
  for (const TreeNode entry : context.entries()) {
    out.push_back({entry, true});
    for (int level = entry.level + 1; attention == WlodAttention::Pyramid && level <= kTopLevel; ++level)
      if (entry.end() % spanOf(level) == 0) out.push_back({{level, entry.end() - spanOf(level)}, false});
  }
  return out;
}

Coverage::Coverage(const WorkingContext& context, std::span<const WlodRow> rows, WlodAttention attention,
                   const PyramidRules& rules)
    : m_context(context),
      m_rows(rows),
      m_attention(attention),
      m_near(roundedUp(rules.near, spanOf(1))),
      m_middle(std::max(roundedUp(rules.middle, spanOf(2)), m_near)),
      m_nearCausal(rules.nearCausal) {
  for (int level = 1; level <= kTopLevel; ++level)
    m_summaryRows[level - 1].assign(at(context.length() / spanOf(level)), -1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TreeNode node = rows[i].node;
    if (rows[i].entry) m_entryRows.push_back(static_cast<std::int32_t>(i));
    else m_summaryRows[node.level - 1][at(node.start / node.span())] = static_cast<std::int32_t>(i);
  }
}

/// Adds the entries that begin in the given moments.
void Coverage::addEntries(Moments moments, std::vector<std::int32_t>& out) const {
  if (moments.begin >= moments.end) return;
  std::int32_t entry = m_context.entryAt(moments.begin);
  if (m_context.entries()[at(entry)].start < moments.begin) ++entry;
  for (; entry < m_context.cost() && m_context.entries()[at(entry)].start < moments.end; ++entry)
    out.push_back(m_entryRows[at(entry)]);
}

/// Adds the summaries of a level that cover the given moments, or the entry that is at least as coarse.
void Coverage::addSummaries(Moments moments, int level, std::vector<std::int32_t>& out) const {
  for (std::int32_t t = moments.begin; t < moments.end;) {
    const std::int32_t summary = m_summaryRows[level - 1][at(t / spanOf(level))];
    const std::int32_t entry = summary < 0 ? m_context.entryAt(t) : 0;
    if (summary >= 0) out.push_back(summary);
    else if (m_context.entries()[at(entry)].start == t) out.push_back(m_entryRows[at(entry)]);
    t = summary >= 0 ? t + spanOf(level) : m_context.entries()[at(entry)].end();
  }
}

std::vector<std::int32_t> Coverage::past(std::int32_t begin) const {
  std::vector<std::int32_t> out;
  const std::int32_t far = std::max(0, begin - m_middle) / spanOf(2) * spanOf(2),
                     middle = std::max(far, begin - m_near);
  addSummaries({0, far}, 2, out);
  addSummaries({far, middle}, 1, out);
  addEntries({middle, begin}, out);
  return out;
}

void Coverage::addQuery(QueryBlock& block, std::int32_t row, std::int32_t before) const {
  const WlodRow& query = m_rows[at(row)];
  const auto own = std::find(block.rows.begin() + before, block.rows.end(), row);
  block.queries.push_back(row);
  block.seen.push_back(query.entry           ? static_cast<std::int32_t>(own - block.rows.begin()) + 1
                           : seesSpan(query) ? static_cast<std::int32_t>(block.rows.size())
                                             : before);
  block.self.push_back(!query.entry);
}

QueryBlock Coverage::flat(std::span<const std::int32_t> queries) const {
  QueryBlock all;
  for (std::int32_t row = 0; row <= queries.back(); ++row) all.rows.push_back(row);
  for (const std::int32_t row : queries) {
    all.queries.push_back(row);
    all.seen.push_back(row + 1);
    all.self.push_back(false);
  }
  return all;
}

std::vector<QueryBlock> Coverage::blocks(std::int32_t from, std::int32_t to) const {
  std::vector<std::int32_t> queries;
  for (std::int32_t row = from; row < to; ++row) queries.push_back(row);
  return blocks(queries);
}

std::vector<QueryBlock> Coverage::blocks(std::span<const std::int32_t> queries) const {
  if (queries.empty()) return {};
  if (m_attention == WlodAttention::Flat) return {flat(queries)};
  std::map<std::pair<std::int32_t, int>, std::vector<std::int32_t>> byBlock;  // by first moment and level of the block
  for (const std::int32_t row : queries) {
    const WlodRow& query = m_rows[at(row)];
    const int level = seesSpan(query) ? query.node.level : 1;
    byBlock[{query.node.at(level).start, level}].push_back(row);
  }
  std::vector<QueryBlock> out;
  for (const auto& [key, rows] : byBlock) {
    const auto [begin, level] = key;
    QueryBlock& block = out.emplace_back();
    block.rows = past(begin);
    const auto before = static_cast<std::int32_t>(block.rows.size());
    if (level == 1) addEntries({begin, begin + kGistBlock}, block.rows);
    else addSummaries({begin, begin + spanOf(level)}, level - 1, block.rows);
    for (const std::int32_t row : rows) addQuery(block, row, before);
  }
  return out;
}

}  // namespace kvlab
