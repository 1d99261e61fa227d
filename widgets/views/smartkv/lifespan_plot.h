// SPDX-License-Identifier: GPL-3.0-or-later
// Predicted against actual lifespans of one layer's rows, in log4 of tokens: a disc per row, a triangle for rows still
// in use at the end of the recording, the diagonal of a perfect gate, and the mean for each prediction. Hides
// QCustomPlot. GUI thread.
#pragma once
#include <QWidget>

#include "core/api/lifespan_view.h"

class QCPGraph;

namespace kvlab {

class SharpPlot;

class LifespanPlot : public QWidget {
  Q_OBJECT
 public:
  explicit LifespanPlot(QWidget* parent);
  /// head < 0: all heads together.
  void show(const std::vector<HeadLifespans>& heads, int head);
  void follow();  // takes colours and fonts of the theme in use
  int points() const { return m_points; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  SharpPlot* m_plot;
  QCPGraph *m_diagonal, *m_known, *m_cut, *m_mean;
  int m_points = 0;
};

}  // namespace kvlab
