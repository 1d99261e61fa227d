// SPDX-License-Identifier: GPL-3.0-or-later
// What an action list would do, one line per action: from the draft at once, with final positions
// and ledger ids as soon as the verb `plan` has answered. Also shows the pending list. GUI thread.
#pragma once
#include "core/api/action.h"
#include "core/api/error.h"
#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

struct PlanLine {
  QString action;         // "replace pair"
  QString where;          // positions, ranges, layer
  QString before, after;  // token texts
  QString finalPosition, newLedger;
  QString error;
  int place = 0;  // in the list
};

/// The figures of a plan's answer.
struct PlanFigures {
  int lengthBefore = 0, lengthAfter = 0, stale = 0, phaseShifted = 0, newRows = 0;
  qint64 bytes = 0;
  QString text() const;
};

class PlanModel : public LineModel<PlanLine> {
  Q_OBJECT
 public:
  /// Pending actions have not been planned: where they land is not known.
  enum class Of { Draft, Pending };
  explicit PlanModel(Of of = Of::Draft, QObject* parent = nullptr);
  void setActions(const std::vector<Action>& actions, const SnapshotPtr& snapshot);
  /// The same from JSON; elements that are no actions become lines that say why.
  void setList(const nlohmann::json& list, const SnapshotPtr& snapshot);
  /// The answer of the verb `plan` for the list set last.
  void setPlan(const nlohmann::json& answer);
  /// An error is shown at its action, or at none.
  void setError(const Error& error);
  const std::optional<PlanFigures>& figures() const { return m_figures; }

 private:
  void take(std::vector<PlanLine> lines, const SnapshotPtr& snapshot);

  std::optional<PlanFigures> m_figures;
  int m_length = 0;
};

/// A line for one action against a snapshot, without a plan.
PlanLine describe(const Action& action, const Snapshot& snapshot);

}  // namespace kvlab
