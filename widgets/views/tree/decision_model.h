// SPDX-License-Identifier: GPL-3.0-or-later
// The decisions of one round of the focus allocator, one line each, in the order they were made. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <memory>

#include "core/api/wlod_view.h"

namespace kvlab {

class DecisionModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Node, Score, Outcome, Reason, kColumns };

  using QAbstractTableModel::QAbstractTableModel;
  void show(std::shared_ptr<const FocusRound> round);
  const std::shared_ptr<const FocusRound>& round() const { return m_round; }
  const FocusDecision& decision(int row) const { return m_round->decisions[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const FocusDecision& decision, int column) const;

  std::shared_ptr<const FocusRound> m_round;
};

/// What a round did: "round 3, tick 41: 241 → 272 of 300 entries; 1 done, 3 refused, 2 more behind the limit of edits".
QString roundText(const FocusRound& round);
/// "expand LOD1 [2304, 2336)   score +0.518   ✗ over budget: 272 entries and 31 more are above the budget of 300".
QString decisionText(const FocusDecision& decision);
int doneIn(const FocusRound& round, bool expansions);
int refusedIn(const FocusRound& round);

}  // namespace kvlab
