// SPDX-License-Identifier: GPL-3.0-or-later
// The focus allocator's history: a strip of rounds, what the chosen one did, and its decisions. Owned by
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
  /// Follows the newest round until one was chosen; a chosen one that is gone gives way to the newest.
  void show(const WlodRoundStrip::Rounds& rounds);
  /// By number; nothing = the newest. False if there is none of that number.
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
