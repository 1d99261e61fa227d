// SPDX-License-Identifier: GPL-3.0-or-later
// What an action list would do, one line per action: from the draft at once, with final positions
// and ledger ids as soon as the verb `plan` has answered. Also shows the pending list. GUI thread.
#pragma once
#include <QAbstractTableModel>

#include "core/api/action.h"
#include "core/api/error.h"
#include "core/api/snapshot.h"

namespace kvlab {

struct PlanLine {
  QString action;         // "replace pair"
  QString where;          // positions, ranges, layer
  QString before, after;  // token texts
  QString finalPosition, newLedger;
  QString error;
};

/// The figures of a plan's answer.
struct PlanFigures {
  int lengthBefore = 0, lengthAfter = 0, stale = 0, phaseShifted = 0, newRows = 0;
  qint64 bytes = 0;
  QString text() const;
};

class PlanModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Place, Kind, Where, Before, After, FinalPosition, NewLedger, kColumns };

  using QAbstractTableModel::QAbstractTableModel;
  void setActions(const std::vector<Action>& actions, const SnapshotPtr& snapshot);
  /// The same from JSON; elements that are no actions become lines that say why.
  void setList(const nlohmann::json& list, const SnapshotPtr& snapshot);
  /// The answer of the verb `plan` for the list set last.
  void setPlan(const nlohmann::json& answer);
  /// An error is shown at its action, or at none.
  void setError(const Error& error);
  const std::vector<PlanLine>& lines() const { return m_lines; }
  const std::optional<PlanFigures>& figures() const { return m_figures; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void changed();
  std::vector<PlanLine> m_lines;
  std::optional<PlanFigures> m_figures;
  int m_length = 0;
};

/// A line for one action against a snapshot, without a plan.
PlanLine describe(const Action& action, const Snapshot& snapshot);

}  // namespace kvlab
