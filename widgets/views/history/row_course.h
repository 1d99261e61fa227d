// SPDX-License-Identifier: GPL-3.0-or-later
// A figure of one row over ticks: the attention that it received, or its score beside the threshold of its layer. Hides
// QCustomPlot. Owned by Row history. GUI thread.
#pragma once
#include <QVector>
#include <QWidget>

#include "core/api/ids.h"

class QCPGraph;

namespace kvlab {

class SharpPlot;

class RowCourse : public QWidget {
  Q_OBJECT
 public:
  /// One tick; a value that is NaN is not drawn.
  struct Point {
    Tick tick;
    double value = 0, threshold = 0;
  };
  explicit RowCourse(QWidget* parent);
  /// what: the figure, for the axis. Fewer than two points hide the plot.
  void show(const QString& what, const std::vector<Point>& points);
  void follow();  // takes colours and fonts of the theme in use
  int points() const { return m_points; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  SharpPlot* m_plot;
  QCPGraph *m_value, *m_threshold;
  int m_points = 0;
};

}  // namespace kvlab
