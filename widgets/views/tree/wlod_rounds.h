// SPDX-License-Identifier: GPL-3.0-or-later
// The history of the focus allocator: a strip of rounds, a summary of the selected round, and its decisions. Owned by
// WlodTreeView. GUI thread.
#pragma once
#include <QWidget>
#include <optional>

#include "widgets/table/data_table.h"
#include "widgets/views/tree/decision_model.h"
#include "widgets/views/tree/wlod_round_strip.h"

class QLabel;

namespace kvlab {

class WlodRounds : public QWidget {
  Q_OBJECT
 public:
  explicit WlodRounds(QWidget* parent);
  /// Shows the newest round unless the user selected one that is still kept.
  void show(const WlodRoundStrip::Rounds& rounds);
  /// Selects a round by number; empty = the newest. False if there is no such round.
  bool choose(std::optional<std::int32_t> round);
  std::optional<std::int32_t> chosen() const { return m_chosen; }
  WlodRoundStrip& strip() { return *m_strip; }
  DataTable& table() { return *m_table; }
  const DecisionModel& model() const { return *m_model; }
  QString said() const;
  void follow();

 signals:
  void roundPicked();
  void decisionChosen(const kvlab::FocusDecision& decision);

 private:
  void showRound();

  WlodRoundStrip* m_strip;
  QLabel* m_said;
  DecisionModel* m_model;
  DataTable* m_table;
  std::optional<std::int32_t> m_chosen;
};

}  // namespace kvlab
