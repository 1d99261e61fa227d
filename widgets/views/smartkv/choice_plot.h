// SPDX-License-Identifier: GPL-3.0-or-later
// How the scores of one choice of a policy lie: the rows that competed as a histogram, those that stayed beside those
// that were dropped, the threshold as a line, and the focused row. Hides QCustomPlot. GUI thread.
#pragma once
#include <QWidget>
#include <vector>

class QCPBars;
class QCPItemStraightLine;

namespace kvlab {

class SharpPlot;

struct ChoiceScores {
  std::vector<float> stayed, dropped;  // of the rows that competed; NaN = without a score
  float threshold = 0;                 // the lowest score that stayed; NaN = none
  float focused = 0;                   // of the focused row; NaN = it did not compete
};

class ChoicePlot : public QWidget {
  Q_OBJECT
 public:
  explicit ChoicePlot(QWidget* parent);
  void show(const ChoiceScores& scores);
  void follow();  // takes colours and fonts of the theme in use
  /// Rows in each bar, stayed and dropped: "0/12 3/9".
  QString dump() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  bool empty() const;

  SharpPlot* m_plot;
  QCPBars *m_dropped, *m_stayed;
  QCPItemStraightLine *m_threshold, *m_focused;
  std::vector<int> m_counts[2];  // stayed, dropped
};

}  // namespace kvlab
