// SPDX-License-Identifier: Apache-2.0
// The rows that the plan of a wLOD session gave to a pass in a cache layer, in order of arrival. For checks, this file
// derives a second time which of them a row sees, row by row from the rules of attention (semantics.md, section 8).
// Pure; engine thread.
#pragma once
#include "core/kinds/wlod/state/wlod_state.h"
#include "core/state/commit_deeds.h"

namespace kvlab {

class WlodGiven : public GivenRows {
 public:
  WlodGiven(const WlodState& state, Column<Slot> places, std::vector<bool> absent)
      : GivenRows(state.ledger, std::move(places), std::move(absent)), m_rows(state.rows), m_rules(state.rules) {}

  double phaseOf(std::size_t row) const override { return m_rows[row].node.phase(); }
  double blurOf(std::size_t row) const override { return m_rules.blurOf(m_rows[row].node); }
  std::string nameOf(std::size_t row) const override { return m_rows[row].node.text(); }
  /// Ascending before the row itself.
  std::vector<std::int32_t> seenBy(std::size_t own, int window) const override;

 private:
  const Column<WlodRow> m_rows;
  const WlodRules m_rules;
};

}  // namespace kvlab
