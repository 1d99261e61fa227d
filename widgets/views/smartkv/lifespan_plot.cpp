// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/lifespan_plot.h"

#include <algorithm>

#include "widgets/base/theme.h"
#include "widgets/canvas/sharp_plot.h"

namespace kvlab {

LifespanPlot::LifespanPlot(QWidget* parent) : QWidget(parent) {
  setMinimumSize(140, 110);
  setAccessibleName(tr("Predicted against actual lifespans"));
  setToolTip(
      tr("One disc per row; a triangle is a row still in use at the end of the text, whose lifespan may be longer. The "
         "dashed line is a perfect gate, the thick line the mean actual lifespan for each prediction"));
  m_plot = new SharpPlot(this);
  m_plot->setFocusPolicy(Qt::NoFocus);
  m_plot->setAttribute(Qt::WA_TransparentForMouseEvents);
  m_plot->axisRect()->setMinimumMargins(QMargins(0, Theme::kMedium, Theme::kLarge, 0));
  m_diagonal = m_plot->addGraph();
  m_known = m_plot->addGraph();
  m_cut = m_plot->addGraph();
  m_mean = m_plot->addGraph();
  for (QCPGraph* one : {m_known, m_cut}) one->setLineStyle(QCPGraph::lsNone);
  m_plot->xAxis->setLabel(tr("predicted lifespan, log4 of tokens"));
  m_plot->yAxis->setLabel(tr("actual"));
  for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) axis->ticker()->setTickCount(5);
  follow();
}

void LifespanPlot::show(const std::vector<HeadLifespans>& heads, int head) {
  QVector<double> x[2], y[2], meanX, meanY;
  double low = 0, high = 1;
  std::vector<CalibrationBin> bins;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (head >= 0 && static_cast<int>(h) != head) continue;
    for (std::size_t i = 0; i < heads[h].predicted.size(); ++i) {
      const double predicted = heads[h].predicted[i], actual = heads[h].actual[i];
      x[heads[h].cut[i] ? 1 : 0] << predicted;
      y[heads[h].cut[i] ? 1 : 0] << actual;
      low = std::min({low, predicted, actual}), high = std::max({high, predicted, actual});
    }
    bins.insert(bins.end(), heads[h].bins.begin(), heads[h].bins.end());
  }
  std::sort(bins.begin(), bins.end(),
            [](const CalibrationBin& a, const CalibrationBin& b) { return a.predicted < b.predicted; });
  for (std::size_t i = 0; i < bins.size();) {  // merge bins of several heads
    double predicted = 0, actual = 0, rows = 0;
    const double cell = std::floor(static_cast<double>(bins[i].predicted) * 2);
    for (; i < bins.size() && std::floor(static_cast<double>(bins[i].predicted) * 2) == cell; ++i)
      predicted += double(bins[i].predicted) * bins[i].rows, actual += double(bins[i].actual) * bins[i].rows,
          rows += bins[i].rows;
    meanX << predicted / rows;
    meanY << actual / rows;
  }
  m_points = static_cast<int>(x[0].size() + x[1].size());
  m_known->setData(x[0], y[0]);
  m_cut->setData(x[1], y[1]);
  m_mean->setData(meanX, meanY, true);
  const double pad = (high - low) * 0.06;
  m_diagonal->setData({low - pad, high + pad}, {low - pad, high + pad});
  m_plot->xAxis->setRange(low - pad, high + pad);
  m_plot->yAxis->setRange(low - pad, high + pad);
  m_plot->replot(QCustomPlot::rpImmediateRefresh);
}

void LifespanPlot::follow() {
  const auto theme = Theme::current();
  followTheme(*m_plot);
  const QColor known = seriesColour(0, theme->dark), cut = seriesColour(1, theme->dark);
  m_diagonal->setPen(QPen(theme->muted, 1, Qt::DashLine));
  m_known->setScatterStyle(
      QCPScatterStyle(QCPScatterStyle::ssDisc, Theme::faded(known, 190), Theme::faded(known, 190), 4.5));
  m_cut->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssTriangle, cut, 5.5));
  m_mean->setPen(QPen(theme->text, 2));
  m_mean->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDiamond, theme->text, theme->surface, 7));
  m_plot->replot();
}

void LifespanPlot::resizeEvent(QResizeEvent*) {
  m_plot->setGeometry(rect());
  m_plot->replot(QCustomPlot::rpImmediateRefresh);
}

}  // namespace kvlab
