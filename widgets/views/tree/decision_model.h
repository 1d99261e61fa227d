// SPDX-License-Identifier: GPL-3.0-or-later
// The decisions of one round of the focus allocator, one line each, in order of decision. GUI thread.
#pragma once
#include <memory>

#include "core/api/wlod_view.h"
#include "widgets/table/column_model.h"

namespace kvlab {

class DecisionModel : public ColumnModel<const FocusDecision&> {
  Q_OBJECT
 public:
  explicit DecisionModel(QObject* parent);
  void show(std::shared_ptr<const FocusRound> round);
  const std::shared_ptr<const FocusRound>& round() const { return m_round; }
  const FocusDecision& decision(int row) const { return line(row); }

 private:
  int count() const override { return m_round ? static_cast<int>(m_round->decisions.size()) : 0; }
  const FocusDecision& line(int row) const override { return m_round->decisions[at(row)]; }

  std::shared_ptr<const FocusRound> m_round;
};

/// Summary: "round 3, tick 41: 241 → 272 of 300 entries; 1 done, 3 refused, 2 more behind the limit of edits".
QString roundText(const FocusRound& round);
/// "expand LOD1 [2304, 2336)   score +0.518   ✗ over budget: 272 entries and 31 more are above the budget of 300".
QString decisionText(const FocusDecision& decision);
/// Number of expansions, or of collapses, that were done, or that were refused.
int decisionsIn(const FocusRound& round, bool done, bool expansions);

}  // namespace kvlab
