// SPDX-License-Identifier: GPL-3.0-or-later
// The history of the focus allocator: a strip of rounds, a summary of the selected round, and its decisions. Owned by
// WlodTreeView. GUI thread.
#pragma once
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "core/api/wlod_view.h"
#include "widgets/canvas/tick_picker.h"
#include "widgets/table/column_model.h"

class QLabel;

namespace kvlab {

/// The decisions of one round of the focus allocator, one line each, in order of decision.
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

/// One column per round of the focus allocator: expansions upwards, collapses downwards, refused candidates as
/// outlines. A tick may have several rounds, so columns are chosen by index.
class WlodRoundStrip : public ScrolledTicks {
  Q_OBJECT
 public:
  explicit WlodRoundStrip(QWidget* parent);
  using Rounds = std::vector<std::shared_ptr<const FocusRound>>;
  void show(Rounds rounds, int chosen);
  const Rounds& rounds() const { return m_rounds; }
  QSize sizeHint() const override { return {160, 64}; }
  QRectF column(int place) const;

 protected:
  int count() const override { return static_cast<int>(m_rounds.size()); }
  Tick tickOf(int place) const override { return Tick(place); }
  QString describe(int place) const override;
  double columnWidth() const override { return kColumn; }
  void paintEvent(QPaintEvent* event) override;

 private:
  static constexpr int kColumn = 40;

  Rounds m_rounds;
};

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
