// SPDX-License-Identifier: GPL-3.0-or-later
// An action list in words, one line per action: the queue, or a text that is not queued yet. Final positions and ledger
// ids come with the plan: that of a snapshot, or the reply to the verb `plan`. GUI thread.
#pragma once
#include "core/api/action.h"
#include "core/api/error.h"
#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

struct PlanLine {
  QString what;   // "Replace “·cellar” by “·attic”"
  QString where;  // positions, or ledger ids
  QString finalPosition, newLedger;
  QString error;
  int place = 0;  // index in the list
};

/// The numbers of a plan.
struct PlanFigures {
  int lengthBefore = 0, lengthAfter = 0, stale = 0, phaseShifted = 0, newRows = 0;
  qint64 bytes = 0;
  QString text() const;
};

class PlanModel : public LineModel<PlanLine> {
  Q_OBJECT
 public:
  explicit PlanModel(QObject* parent = nullptr);
  /// Sets the list from JSON; elements that are no actions become lines with an error.
  void setList(const nlohmann::json& list, const SnapshotPtr& snapshot);
  /// Takes the reply to `plan` for the last list.
  void setPlan(const nlohmann::json& answer);
  /// Takes the planner's result for the last list.
  void setPlan(const PlanView& plan);
  /// Shows an error at its action, if it names one.
  void setError(const Error& error);
  const std::optional<PlanFigures>& figures() const { return m_figures; }

 private:
  std::optional<PlanFigures> m_figures;
  int m_length = 0;
};

}  // namespace kvlab
