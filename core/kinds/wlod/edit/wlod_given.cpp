// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/edit/wlod_given.h"

namespace kvlab {
namespace {

/// The level at which a query sees past moments, and whether it sees a row of its own block.
class Pyramid {
 public:
  Pyramid(const WlodRow& query, const PyramidRules& rules) : m_query(query), m_spans(!query.entry && rules.nearCausal) {
    const auto up = [](std::int32_t moments, std::int32_t to) { return (moments + to - 1) / to * to; };
    m_begin = query.node.at(m_spans ? query.node.level : 1).start;
    const std::int32_t near = up(rules.near, spanOf(1)), middle = std::max(up(rules.middle, spanOf(2)), near);
    m_far = std::max(0, m_begin - middle) / spanOf(2) * spanOf(2);
    m_middle = std::max(m_far, m_begin - near);
  }

  bool sees(const WlodRow& row) const {
    const TreeNode node = row.node;
    if (node.end() <= m_begin) {
      const int coarse = node.start < m_far ? 2 : node.start < m_middle ? 1 : 0;
      return row.entry ? node.level >= coarse : node.level == coarse;
    }
    if (m_spans) return node.start >= m_begin && node.level == m_query.node.level - 1;
    return m_query.entry && row.entry && node.start >= m_begin;
  }

 private:
  const WlodRow m_query;
  const bool m_spans;                     // a summary that sees its own span, one level finer
  std::int32_t m_begin, m_far, m_middle;  // moments; rows before m_far are seen as LOD2, before m_middle as LOD1
};

}  // namespace

std::vector<std::int32_t> WlodGiven::seenBy(std::size_t own, int window) const {
  const Pyramid pyramid(m_rows[own], m_rules.pyramid);
  const std::int32_t phase = m_rows[own].node.phase();
  std::vector<std::int32_t> out;
  for (std::size_t row = 0; row < own; ++row) {
    const bool seen = m_rules.attention == WlodAttention::Flat || pyramid.sees(m_rows[row]);
    if (seen && !lacks(row) && (window == 0 || phase - m_rows[row].node.phase() < window))
      out.push_back(static_cast<std::int32_t>(row));
  }
  out.push_back(static_cast<std::int32_t>(own));
  return out;
}

}  // namespace kvlab
