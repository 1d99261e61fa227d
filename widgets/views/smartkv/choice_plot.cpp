// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/choice_plot.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/canvas/sharp_plot.h"

namespace kvlab {
namespace {
constexpr int kBars = 32;
constexpr int kLeast = 56;  // below this height only the words have room

/// The places of scores on the axis. Where scores of attention lie far apart, it is one of logarithms, and scores of
/// 0 stand at its lower end.
struct ScoreAxis {
  double low = 0, high = 1;
  bool logs = false;

  explicit ScoreAxis(const ChoiceScores& scores) {
    std::vector<double> known;
    for (const auto* list : {&scores.stayed, &scores.dropped})
      for (const float score : *list)
        if (std::isfinite(score)) known.push_back(static_cast<double>(score));
    if (known.empty()) return;
    std::ranges::sort(known);
    const double middle = known[known.size() / 2], most = known.back();
    const auto positive = std::ranges::upper_bound(known, 0.0);
    logs = known.front() >= 0 && middle > 0 && most > 20 * middle && positive != known.end();
    low = logs ? std::max(*positive, most * 1e-9) : known.front();
    high = most > low ? most : low + std::max(1e-6, std::abs(low) * 0.1);
  }
  double share(float score) const {
    const double value = std::clamp(static_cast<double>(score), low, high);
    return logs ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
  double at(double share) const { return logs ? low * std::pow(high / low, share) : low + (high - low) * share; }
};

std::vector<int> countsOf(const std::vector<float>& scores, const ScoreAxis& axis) {
  std::vector<int> out(kBars);
  for (const float score : scores)
    if (std::isfinite(score)) ++out[static_cast<std::size_t>(std::min(kBars - 1.0, axis.share(score) * kBars))];
  return out;
}

void place(QCPItemStraightLine& line, float score, const ScoreAxis& axis) {
  line.setVisible(std::isfinite(score));
  if (!std::isfinite(score)) return;
  const double x = axis.at(axis.share(score));
  line.point1->setCoords(x, 1);
  line.point2->setCoords(x, 2);
}
}  // namespace

ChoicePlot::ChoicePlot(QWidget* parent) : QWidget(parent) {
  setMinimumSize(140, 72);
  setAccessibleName(tr("Scores of the rows that competed"));
  setToolTip(
      tr("How many rows that competed had which score, on an axis of logarithms: rows that stayed and rows that were "
         "dropped. The dashed line is the threshold, the lowest score that stayed; the full line is the focused row"));
  m_plot = new SharpPlot(this);
  m_plot->setFocusPolicy(Qt::NoFocus);
  m_plot->setAttribute(Qt::WA_TransparentForMouseEvents);
  m_plot->axisRect()->setMinimumMargins(QMargins(0, Theme::kMedium, Theme::kLarge, 0));
  m_dropped = new QCPBars(m_plot->xAxis, m_plot->yAxis);
  m_stayed = new QCPBars(m_plot->xAxis, m_plot->yAxis);
  for (QCPBars* bars : {m_dropped, m_stayed}) bars->setBaseValue(0.5);
  m_dropped->setName(tr("dropped"));
  m_stayed->setName(tr("stayed"));
  m_threshold = new QCPItemStraightLine(m_plot);
  m_focused = new QCPItemStraightLine(m_plot);
  m_plot->yAxis->setScaleType(QCPAxis::stLogarithmic);
  m_plot->yAxis->setLabel(tr("rows"));
  m_plot->xAxis->setLabel(tr("score"));
  m_plot->legend->setVisible(true);
  m_plot->axisRect()->insetLayout()->setInsetAlignment(0, Qt::AlignTop | Qt::AlignRight);
  follow();
}

void ChoicePlot::show(const ChoiceScores& scores) {
  const ScoreAxis axis(scores);
  m_counts[0] = countsOf(scores.stayed, axis);
  m_counts[1] = countsOf(scores.dropped, axis);
  QVector<double> x;
  for (int i = 0; i < kBars; ++i) x << axis.at((i + 0.5) / kBars);
  int most = 1;
  QCPBars* bars[] = {m_stayed, m_dropped};
  for (int list = 0; list < 2; ++list) {
    QVector<double> shownX, y;
    for (int i = 0; i < kBars; ++i) {
      const int count = m_counts[list][static_cast<std::size_t>(i)];
      if (count == 0) continue;
      shownX << x[i];
      y << count;
      most = std::max(most, count);
    }
    bars[list]->setData(shownX, y, true);
    bars[list]->setWidthType(QCPBars::wtAxisRectRatio);
    bars[list]->setWidth(0.92 / (kBars + 2));
  }
  m_plot->xAxis->setScaleType(axis.logs ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  m_plot->xAxis->setTicker(axis.logs ? QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog)
                                     : QSharedPointer<QCPAxisTicker>(new QCPAxisTicker));
  m_plot->xAxis->setNumberFormat(axis.logs ? "gb" : "g");
  m_plot->xAxis->setNumberPrecision(axis.logs ? 0 : 4);
  m_plot->xAxis->setRange(axis.at(-1.0 / kBars), axis.at(1 + 1.0 / kBars));
  // Labels at powers of 10, or of 4 where there are too few rows for two of those.
  const bool few = most < 10;
  const auto ticker = QSharedPointer<QCPAxisTickerLog>::create();
  ticker->setLogBase(few ? 4 : 10);
  ticker->setTickCount(2);
  m_plot->yAxis->setTicker(ticker);
  m_plot->yAxis->setNumberFormat(few ? "g" : "gb");
  m_plot->yAxis->setNumberPrecision(few ? 2 : 0);
  m_plot->yAxis->setRange(0.5, most * 2.0);
  place(*m_threshold, scores.threshold, axis);
  place(*m_focused, scores.focused, axis);
  m_plot->setVisible(height() >= kLeast && !empty());
  m_plot->replot(QCustomPlot::rpImmediateRefresh);
}

void ChoicePlot::follow() {
  const auto theme = Theme::current();
  followTheme(*m_plot);
  m_dropped->setPen(Qt::NoPen);
  m_dropped->setBrush(Theme::faded(theme->warning, 170));
  m_stayed->setPen(Qt::NoPen);
  m_stayed->setBrush(Theme::faded(seriesColour(0, theme->dark), 220));
  m_threshold->setPen(QPen(theme->text, 1, Qt::DashLine));
  m_focused->setPen(QPen(theme->focus, 2));
  m_plot->legend->setBrush(Theme::faded(theme->surface, 200));
  m_plot->legend->setBorderPen(Qt::NoPen);
  m_plot->legend->setFont(theme->small);
  m_plot->legend->setTextColor(theme->muted);
  m_plot->replot();
}

QString ChoicePlot::dump() const {
  QStringList out;
  for (std::size_t i = 0; i < m_counts[0].size(); ++i)
    out << QStringLiteral("%1/%2").arg(m_counts[0][i]).arg(m_counts[1][i]);
  return out.join(' ');
}

/// Without scores there is nothing to draw.
bool ChoicePlot::empty() const {
  const auto none = [](const std::vector<int>& counts) {
    return std::ranges::all_of(counts, [](int n) { return n == 0; });
  };
  return none(m_counts[0]) && none(m_counts[1]);
}

/// What stands in place of the plot.
void ChoicePlot::paintEvent(QPaintEvent*) {
  if (!empty()) return;
  const auto theme = Theme::current();
  QPainter painter(this);
  painter.fillRect(rect(), theme->surface);
  painter.setPen(theme->muted);
  painter.setFont(theme->small);
  painter.drawText(rect().adjusted(Theme::kMedium, 0, -Theme::kMedium, 0), Qt::AlignCenter | Qt::TextWordWrap,
                   tr("The scores of the rows that competed stand here once a choice about them is known"));
}

void ChoicePlot::resizeEvent(QResizeEvent*) {
  m_plot->setVisible(height() >= kLeast && !empty());
  m_plot->legend->setVisible(height() >= 2 * kLeast);
  m_plot->setGeometry(rect());
  m_plot->replot(QCustomPlot::rpImmediateRefresh);
}

}  // namespace kvlab
