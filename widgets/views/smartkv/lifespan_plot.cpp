// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/lifespan_plot.h"

#include <algorithm>

#include "widgets/base/theme.h"
#include "widgets/canvas/sharp_plot.h"

namespace kvlab {

struct LifespanPlot::Parts {
  SharpPlot* plot = nullptr;
  QCPGraph *diagonal = nullptr, *known = nullptr, *cut = nullptr, *mean = nullptr;
  int points = 0;
};

LifespanPlot::LifespanPlot(QWidget* parent) : QWidget(parent), m_parts(std::make_unique<Parts>()) {
  Parts& p = *m_parts;
  setMinimumSize(140, 110);
  setAccessibleName(tr("Predicted against actual lifespans"));
  setToolTip(
      tr("One disc per row; a triangle is a row still in use at the end of the text, whose lifespan may be longer. The "
         "dashed line is a perfect gate, the thick line the mean actual lifespan for each prediction"));
  p.plot = new SharpPlot(this);
  p.plot->setFocusPolicy(Qt::NoFocus);
  p.plot->setAttribute(Qt::WA_TransparentForMouseEvents);
  p.plot->axisRect()->setMinimumMargins(QMargins(0, Theme::kMedium, Theme::kLarge, 0));
  p.diagonal = p.plot->addGraph();
  p.known = p.plot->addGraph();
  p.cut = p.plot->addGraph();
  p.mean = p.plot->addGraph();
  for (QCPGraph* one : {p.known, p.cut}) one->setLineStyle(QCPGraph::lsNone);
  p.plot->xAxis->setLabel(tr("predicted lifespan, log4 of tokens"));
  p.plot->yAxis->setLabel(tr("actual"));
  for (QCPAxis* axis : {p.plot->xAxis, p.plot->yAxis}) axis->ticker()->setTickCount(5);
  follow();
}

LifespanPlot::~LifespanPlot() = default;
int LifespanPlot::points() const { return m_parts->points; }

void LifespanPlot::show(const std::vector<HeadLifespans>& heads, int head) {
  Parts& p = *m_parts;
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
  p.points = static_cast<int>(x[0].size() + x[1].size());
  p.known->setData(x[0], y[0]);
  p.cut->setData(x[1], y[1]);
  p.mean->setData(meanX, meanY, true);
  const double pad = (high - low) * 0.06;
  p.diagonal->setData({low - pad, high + pad}, {low - pad, high + pad});
  p.plot->xAxis->setRange(low - pad, high + pad);
  p.plot->yAxis->setRange(low - pad, high + pad);
  p.plot->replot(QCustomPlot::rpImmediateRefresh);
}

void LifespanPlot::follow() {
  Parts& p = *m_parts;
  const auto theme = Theme::current();
  followTheme(*p.plot);
  const QColor known = seriesColour(0, theme->dark), cut = seriesColour(1, theme->dark);
  p.diagonal->setPen(QPen(theme->muted, 1, Qt::DashLine));
  p.known->setScatterStyle(
      QCPScatterStyle(QCPScatterStyle::ssDisc, Theme::faded(known, 190), Theme::faded(known, 190), 4.5));
  p.cut->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssTriangle, cut, 5.5));
  p.mean->setPen(QPen(theme->text, 2));
  p.mean->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDiamond, theme->text, theme->surface, 7));
  p.plot->replot();
}

void LifespanPlot::resizeEvent(QResizeEvent*) {
  m_parts->plot->setGeometry(rect());
  m_parts->plot->replot(QCustomPlot::rpImmediateRefresh);
}

}  // namespace kvlab
