// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/history/row_course.h"

#include <algorithm>
#include <cmath>

#include "widgets/canvas/sharp_plot.h"

namespace kvlab {

RowCourse::RowCourse(QWidget* parent) : QWidget(parent) {
  setFixedHeight(130);
  setAccessibleName(tr("The row over ticks"));
  setToolTip(tr(
      "The figure of the row in each tick. The dashed line is the threshold of its layer: the lowest score that kept "
      "a place"));
  m_plot = new SharpPlot(this);
  m_plot->setFocusPolicy(Qt::NoFocus);
  m_plot->setAttribute(Qt::WA_TransparentForMouseEvents);
  m_plot->axisRect()->setMinimumMargins(QMargins(0, Theme::kMedium, Theme::kLarge, 0));
  m_threshold = m_plot->addGraph();
  m_value = m_plot->addGraph();
  m_plot->xAxis->setLabel(tr("tick"));
  m_plot->yAxis->ticker()->setTickCount(4);
  hide();
  follow();
}

void RowCourse::show(const QString& what, const std::vector<Point>& points) {
  QVector<double> ticks, values, thresholds;
  double low = 0, high = 0;
  for (const Point& one : points) {
    ticks << static_cast<double>(one.tick.value());
    values << one.value;
    thresholds << one.threshold;
    for (const double y : {one.value, one.threshold})
      if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
  }
  m_points = static_cast<int>(points.size());
  setVisible(m_points > 1);
  if (m_points < 2) return;
  m_value->setData(ticks, values, true);
  m_threshold->setData(ticks, thresholds, true);
  m_plot->yAxis->setLabel(what);
  m_plot->xAxis->setRange(ticks.front() - 0.5, std::max(ticks.front() + 1, ticks.back()) + 0.5);
  const double room = std::max(1e-9, high - low) * 0.08;
  m_plot->yAxis->setRange(low < 0 ? low - room : low, high + room);
  m_plot->replot(QCustomPlot::rpImmediateRefresh);
}

void RowCourse::follow() {
  const auto theme = Theme::current();
  followTheme(*m_plot);
  const QColor colour = seriesColour(0, theme->dark);
  m_value->setPen(QPen(colour, 1.5));
  m_value->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, colour, colour, 4));
  m_threshold->setPen(QPen(theme->muted, 1, Qt::DashLine));
  m_plot->replot();
}

void RowCourse::resizeEvent(QResizeEvent*) {
  m_plot->setGeometry(rect());
  m_plot->replot(QCustomPlot::rpImmediateRefresh);
}

}  // namespace kvlab
