// SPDX-License-Identifier: GPL-3.0-or-later
// The part of the view Policy about choices: all layers and heads at once, what became of the focused row in the
// focused layer, at which score, rank and threshold, and the scores of all rows that competed there. Asks the tables
// `history` and `decisions`. Owned by its view. GUI thread.
#pragma once
#include <QWidget>
#include <optional>

#include "widgets/base/engine_ask.h"
#include "widgets/views/smartkv/choice_plot.h"
#include "widgets/views/smartkv/keep_matrix.h"

class QLabel;

namespace kvlab {

class ChoicePart : public QWidget {
  Q_OBJECT
 public:
  ChoicePart(InspectorContext& context, InspectorView* view, QWidget* parent);
  void show(const std::vector<BandRows>& layers);
  /// Asks for the choice about the focused row and layer, unless that was asked or the engine works.
  void ask();
  void forget() { m_asked.reset(); }
  void follow() { m_plot->follow(); }
  QString dump() const;
  KeepMatrix& matrix() { return *m_matrix; }
  QString why() const;

 signals:
  void chosen(kvlab::CacheLayer layer);

 private:
  /// What an answer is about.
  struct Question {
    Focus focus;
    std::uint64_t newest = 0;  // serial of the newest snapshot
    Tick shown;
    bool operator==(const Question&) const = default;
  };
  void askTick(std::optional<Tick> tick);
  nlohmann::json table(const char* name, nlohmann::json of, const nlohmann::json& columns, const char* where) const;
  void takeScores(const nlohmann::json& reply);
  void say(const QString& text);

  InspectorContext& m_context;
  EngineAsk m_ask;
  KeepMatrix* m_matrix;
  QLabel* m_why;
  ChoicePlot* m_plot;
  ChoiceScores m_scores;
  std::optional<Question> m_asked;
};

}  // namespace kvlab
