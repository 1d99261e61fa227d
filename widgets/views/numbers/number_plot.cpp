// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/number_plot.h"

#include <cmath>

#include "widgets/base/theme.h"
#include "widgets/views/numbers/pile_fill.h"
#include "widgets/views/numbers/pixel_columns.h"

namespace kvlab {
namespace {
constexpr int kPanelGap = 6;
constexpr int kDotsUpTo = 60;  // up to so many visible points are also drawn as dots

/// Labels of a linear or a logarithmic axis in the unit of the panel.
template <class Ticker>
class PanelTicker : public Ticker {
 public:
  explicit PanelTicker(Panel panel) : m_panel(panel) { this->setTickCount(4); }

 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    return formatIn(m_panel, std::abs(tick) < 1e-12 ? 0 : tick);
  }

 private:
  Panel m_panel;
};

constexpr double kPeak = 4;   // medians: a time above is a peak
constexpr int kFewTicks = 3;  // with fewer nothing is a peak

bool isTime(Panel panel) { return panel == Panel::Latency || panel == Panel::Operations; }
bool spansDecades(Panel panel) { return isTime(panel) || panel == Panel::Bytes; }
bool fromZero(Panel panel) { return panel != Panel::Rows && panel != Panel::Model && panel != Panel::Brightness; }
}  // namespace

bool NumberPlot::PanelPart::piles(const Curve& curve) const {
  return stacked && curve.series.id != QLatin1String("us.total");
}

QCPAxis* NumberPlot::bottom() const {
  return m_panels.empty() || !m_panels.front().rect ? nullptr : m_panels.front().rect->axis(QCPAxis::atBottom);
}

void NumberPlot::pile(PanelPart& part) const {
  QVector<double> floor(static_cast<qsizetype>(m_ticks.size()), NAN);
  for (Curve& curve : part.curves) {
    curve.drawn = QVector<double>(curve.series.values.begin(), curve.series.values.end());
    if (!part.piles(curve)) continue;
    for (qsizetype i = 0; i < floor.size(); ++i)
      if (!std::isnan(curve.drawn[i])) floor[i] = (std::isnan(floor[i]) ? 0.0 : floor[i]) + curve.drawn[i];
    curve.drawn = floor;
  }
  part.pile = floor;
}

/// Gives the curves the visible ticks, reduced to pixels. A pile shows the highest tick of each column, with all its
/// steps.
void NumberPlot::draw(PanelPart& part, const QCPRange& keys) const {
  const auto columns = pixelColumns(m_ticks, keys.lower, keys.upper, std::max(1, m_plot->width()));
  const std::vector<int> piled = highest(part.pile, columns);
  for (Curve& curve : part.curves) {
    QVector<double> x, y;
    for (const int place : part.piles(curve) ? piled : extremes(curve.drawn, columns))
      x << m_ticks[at(place)], y << curve.drawn[place];
    curve.graph->setData(x, y, true);
  }
}

bool NumberPlot::sameShape(const std::vector<PanelPart>& other) const {
  return std::equal(m_panels.begin(), m_panels.end(), other.begin(), other.end(),
                    [](const PanelPart& a, const PanelPart& b) {
                      return a.panel == b.panel && a.stacked == b.stacked && a.logarithmic == b.logarithmic &&
                          std::equal(a.curves.begin(), a.curves.end(), b.curves.begin(), b.curves.end(),
                                     [](const Curve& x, const Curve& y) { return x.series.id == y.series.id; });
                    });
}

void NumberPlot::build(const TickSeries& all, const std::vector<QString>& ids, bool stacked) {
  m_ticks = all.ticks();
  m_edits = all.edits();
  std::vector<PanelPart> wanted;
  for (int p = 0; p < kPanels; ++p) {
    PanelPart part;
    part.panel = static_cast<Panel>(p);
    part.logarithmic = m_logarithmic && spansDecades(part.panel);
    part.stacked = stacked && !part.logarithmic && part.panel == Panel::Latency;
    int pen = 0;
    for (const Series& series : all.series()) {
      if (series.panel != part.panel) continue;
      if (std::find(ids.begin(), ids.end(), series.id) != ids.end()) part.curves.push_back({series, {}, pen});
      ++pen;
    }
    if (!part.curves.empty()) wanted.push_back(std::move(part));
  }
  const bool same = sameShape(wanted);
  if (same) {
    for (std::size_t i = 0; i < m_panels.size(); ++i)
      for (std::size_t c = 0; c < m_panels[i].curves.size(); ++c)
        m_panels[i].curves[c].series = wanted[i].curves[c].series;
    return fill();
  }
  m_plot->clearGraphs();
  m_plot->clearItems();
  m_plot->plotLayout()->clear();
  m_panels = std::move(wanted);
  delete m_margins.data();
  m_margins = new QCPMarginGroup(m_plot);
  for (std::size_t i = 0; i < m_panels.size(); ++i)
    addPanel(m_panels[i], static_cast<int>(i), i + 1 == m_panels.size());
  fill();
  follow();
}

void NumberPlot::addPanel(PanelPart& part, int row, bool last) {
  part.rect = new QCPAxisRect(m_plot, true);
  part.rect->setMinimumMargins(QMargins(0, row == 0 ? 4 : 0, Theme::kLarge, 0));
  part.rect->setMarginGroup(QCP::msLeft | QCP::msRight, m_margins);
  part.rect->axis(QCPAxis::atRight)->setVisible(false);
  part.rect->axis(QCPAxis::atTop)->setVisible(false);
  part.rect->setRangeDrag(Qt::Horizontal);
  part.rect->setRangeZoom(Qt::Horizontal);
  part.rect->axis(QCPAxis::atBottom)->setTickLabels(last);
  part.rect->axis(QCPAxis::atLeft)->setScaleType(part.logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  part.rect->axis(QCPAxis::atLeft)
      ->setTicker(part.logarithmic ? QSharedPointer<QCPAxisTicker>(new PanelTicker<QCPAxisTickerLog>(part.panel))
                                   : QSharedPointer<QCPAxisTicker>(new PanelTicker<QCPAxisTicker>(part.panel)));
  auto whole = QSharedPointer<QCPAxisTicker>(new QCPAxisTickerFixed);
  static_cast<QCPAxisTickerFixed*>(whole.data())->setTickStep(1);
  static_cast<QCPAxisTickerFixed*>(whole.data())->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
  part.rect->axis(QCPAxis::atBottom)->setTicker(whole);
  m_plot->plotLayout()->addElement(row, 0, part.rect);
  part.title = new QCPItemText(m_plot);
  part.title->setLayer(QStringLiteral("legend"));  // above the fills of stacked steps
  part.title->setClipToAxisRect(false);
  part.title->position->setType(QCPItemPosition::ptAxisRectRatio);
  part.title->position->setAxisRect(part.rect);
  part.title->setPositionAlignment(Qt::AlignLeft | Qt::AlignTop);
  part.title->position->setCoords(0, 0);
  part.title->setPadding(QMargins(6, 2, 4, 2));
  part.title->setText(title(part.panel));
  part.fill = new PileFill(part.rect);
  for (Curve& curve : part.curves)
    curve.graph = m_plot->addGraph(part.rect->axis(QCPAxis::atBottom), part.rect->axis(QCPAxis::atLeft));
  QCPAxis* axis = part.rect->axis(QCPAxis::atBottom);
  QObject::connect(axis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), m_plot, [this](const QCPRange& range) {
    if (std::exchange(m_syncing, true)) return;
    for (PanelPart& other : m_panels) other.rect->axis(QCPAxis::atBottom)->setRange(range);
    rescale();
    m_layer->update();
    m_syncing = false;
  });
}

/// Low panels get fewer numbers, which would lie over one another.
void NumberPlot::fitTicks() {
  constexpr int kNumber = 20, kMost = 4;
  const int tall = m_plot->height() / std::max(1, static_cast<int>(m_panels.size()));
  for (PanelPart& part : m_panels)
    part.rect->axis(QCPAxis::atLeft)->ticker()->setTickCount(std::clamp(tall / kNumber, 1, kMost));
}

void NumberPlot::fill() {
  for (PanelPart& part : m_panels) pile(part);
  m_cursor = std::min(m_cursor, static_cast<int>(m_ticks.size()) - 1);
  if (!m_zoomed) wholeRange();
  else rescale();
}

/// Few ticks have dots. Lines over many are one pixel of the screen thin, which Qt draws hundreds of times faster.
void NumberPlot::stylePanel(PanelPart& part, bool few) const {
  const bool dark = Theme::current()->dark;
  std::vector<PileFill::Band> bands;
  for (Curve& curve : part.curves) {
    const bool piled = part.piles(curve);
    QPen pen = seriesPen(curve.pen, dark, piled || !few ? 1 : 1.6);
    pen.setCosmetic(!few);
    if (piled) pen.setStyle(Qt::SolidLine);
    if (piled) bands.push_back({curve.graph, Theme::faded(seriesColour(curve.pen, dark), 150)});
    curve.graph->setPen(pen);
    curve.graph->setScatterStyle(few && !part.stacked ? QCPScatterStyle(QCPScatterStyle::ssDisc, 4)
                                                      : QCPScatterStyle());
  }
  part.fill->setBands(std::move(bands));
}

void NumberPlot::wholeRange() {
  m_zoomed = false;
  if (m_ticks.empty() || !bottom()) return;
  const double pad = std::max(0.5, (m_ticks.back() - m_ticks.front()) * 0.01);
  m_syncing = true;
  for (PanelPart& part : m_panels)
    part.rect->axis(QCPAxis::atBottom)->setRange(m_ticks.front() - pad, m_ticks.back() + pad);
  m_syncing = false;
  rescale();
}

/// The upper end of the axis in a panel of times, `high` at most; the title names the ticks above it.
double NumberPlot::belowPeaks(PanelPart& part, const QCPRange& keys, double high) const {
  part.title->setText(title(part.panel));
  if (!m_clipped || !isTime(part.panel)) return high;
  std::vector<std::pair<double, double>> tops;  // highest value of a tick, and the tick
  for (std::size_t i = 0; i < m_ticks.size(); ++i) {
    double top = -INFINITY;
    for (const Curve& curve : part.curves)
      if (const double value = curve.drawn[static_cast<qsizetype>(i)]; !std::isnan(value)) top = std::max(top, value);
    if (top > 0 && keys.contains(m_ticks[i])) tops.emplace_back(top, m_ticks[i]);
  }
  if (tops.size() < kFewTicks) return high;
  std::sort(tops.begin(), tops.end());
  const double limit = kPeak * tops[(tops.size() - 1) / 2].first;
  const auto above = std::find_if(tops.begin(), tops.end(), [limit](const auto& one) { return one.first > limit; });
  if (above == tops.end()) return high;
  const auto peaks = tops.end() - above;
  const QString most = formatIn(part.panel, tops.back().first);
  part.title->setText(title(part.panel) + QStringLiteral("   ▲ ") +
                      (peaks == 1 ? QObject::tr("tick %1: %2").arg(tops.back().second, 0, 'f', 0).arg(most)
                                  : QObject::tr("%1 ticks, up to %2").arg(peaks).arg(most)));
  return std::prev(above)->first;
}

/// From below the smallest value above zero to some room above the largest one, for the title.
void NumberPlot::rescaleDecades(PanelPart& part, const QCPRange& keys) const {
  double low = INFINITY, high = 0;
  for (const Curve& curve : part.curves)
    for (qsizetype i = 0; i < curve.drawn.size(); ++i)
      if (curve.drawn[i] > 0 && keys.contains(m_ticks[at(i)]))
        low = std::min(low, curve.drawn[i]), high = std::max(high, curve.drawn[i]);
  if (high <= 0) low = high = 1;
  part.title->setText(title(part.panel));
  part.rect->axis(QCPAxis::atLeft)->setRange(low / 1.5, high * 1.5 * std::pow(high / low, 0.28));
}

void NumberPlot::rescale() {
  const QCPRange keys = bottom() ? bottom()->range() : QCPRange();
  int inSight = 0;
  for (double tick : m_ticks) inSight += keys.contains(tick);
  for (PanelPart& part : m_panels) {
    draw(part, keys);
    stylePanel(part, inSight <= kDotsUpTo);
    if (part.logarithmic) {
      rescaleDecades(part, keys);
      continue;
    }
    double low = fromZero(part.panel) ? 0 : INFINITY, high = fromZero(part.panel) ? 0 : -INFINITY;
    for (Curve& curve : part.curves) {
      for (qsizetype i = 0; i < curve.drawn.size(); ++i)
        if (!std::isnan(curve.drawn[i]) && keys.contains(m_ticks[at(i)]))
          low = std::min(low, curve.drawn[i]), high = std::max(high, curve.drawn[i]);
    }
    if (!std::isfinite(low)) low = 0, high = 1;
    high = belowPeaks(part, keys, high);
    const double least = part.panel == Panel::Model && high > 0 ? 0 : 1;  // probabilities and KL may be tiny
    const double span = high > low ? high - low : std::max(least, std::abs(high) * 0.1);
    part.rect->axis(QCPAxis::atLeft)->setRange(fromZero(part.panel) ? low : low - span * 0.08, high + span * 0.28);
  }
}

void NumberPlot::follow() {
  const auto theme = Theme::current();
  followTheme(*m_plot);
  for (PanelPart& part : m_panels) {
    part.title->setFont(theme->smallStrong);
    part.title->setColor(theme->muted);
    part.title->setBrush(Theme::faded(theme->surface, 200));
  }
  rescale();
  m_plot->replot();
  m_layer->update();
}

void NumberPlot::paintAt(QPainter& painter, double tick, const QPen& pen) const {
  if (!bottom() || !bottom()->range().contains(tick)) return;
  const double x = bottom()->coordToPixel(tick);
  painter.setPen(pen);
  painter.drawLine(QPointF(x, m_panels.front().rect->top()), QPointF(x, m_panels.back().rect->bottom()));
}

/// A triangle above the plots for each tick with an edit.
void NumberPlot::paintEdits(QPainter& painter) const {
  const auto theme = Theme::current();
  const double top = m_panels.front().rect->top();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme->warning);
  double last = -INFINITY;
  for (const double tick : m_edits) {
    const double x = bottom()->coordToPixel(tick);
    if (!bottom()->range().contains(tick) || x < last + 1) continue;
    last = x;
    painter.drawPolygon(QPolygonF({{x - 4, top - 4}, {x + 4, top - 4}, {x, top + 3}}));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void NumberPlot::paintDots(QPainter& painter) const {
  const auto theme = Theme::current();
  painter.setRenderHint(QPainter::Antialiasing);
  for (const PanelPart& part : m_panels)
    for (const Curve& curve : part.curves) {
      const double value = curve.drawn[m_cursor];
      if (std::isnan(value)) continue;
      const QPointF dot(bottom()->coordToPixel(m_ticks[at(m_cursor)]),
                        part.rect->axis(QCPAxis::atLeft)->coordToPixel(value));
      painter.setPen(QPen(theme->surface, 1.5));
      painter.setBrush(seriesColour(curve.pen, theme->dark));
      painter.drawEllipse(dot, 4, 4);
    }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void NumberPlot::paintLabel(QPainter& painter, double tick) const {
  const auto theme = Theme::current();
  const QString text = QObject::tr("tick %1").arg(tick, 0, 'f', 0);
  painter.setFont(theme->smallStrong);
  const int wide = painter.fontMetrics().horizontalAdvance(text) + 12;
  const double x = std::clamp(bottom()->coordToPixel(tick) - wide / 2.0, 0.0, m_layer->width() - wide - 0.0);
  const QRectF box(x, m_panels.back().rect->bottom() + 2, wide, 17);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme->accent);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.drawRoundedRect(box, 3, 3);
  painter.setPen(theme->accentText);
  painter.drawText(box, Qt::AlignCenter, text);
}

void NumberPlot::paint(QPainter& painter) const {
  if (m_panels.empty() || m_ticks.empty()) return;
  const auto theme = Theme::current();
  paintAt(painter, m_shown, QPen(theme->accent, 1));
  paintEdits(painter);
  if (m_cursor < 0) return;
  const double tick = m_ticks[at(m_cursor)];
  if (!bottom()->range().contains(tick)) return;
  paintAt(painter, tick, QPen(theme->muted, 1, Qt::DotLine));
  paintDots(painter);
  paintLabel(painter, tick);
}

NumberPlot::NumberPlot(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Plots over ticks"));
  setToolTip(
      tr("Wheel zooms, dragging pans, a double click or 0 shows all ticks; arrow keys move the cursor, Return or a "
         "click goes to the tick. A triangle above the plots marks a tick with an edit."));
  m_plot = new SharpPlot(this);
  m_plot->setFocusPolicy(Qt::NoFocus);
  m_plot->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
  m_plot->setNoAntialiasingOnDrag(false);
  m_plot->setPlottingHint(QCP::phFastPolylines);
  m_plot->setMouseTracking(true);
  m_plot->installEventFilter(this);
  connect(m_plot, &QCustomPlot::beforeReplot, this, [this] { fitTicks(); });
  m_plot->plotLayout()->setRowSpacing(kPanelGap);
  m_layer = new PlotOverlay(this);
  m_layer->draw = [this](QPainter& painter) { paint(painter); };
  m_plot->plotLayout()->clear();
  follow();
}

NumberPlot::~NumberPlot() { m_plot->removeEventFilter(this); }

void NumberPlot::show(const TickSeries& series, const std::vector<QString>& ids, bool stacked) {
  build(series, ids, stacked);
  m_plot->replot(QCustomPlot::rpQueuedRefresh);
  m_layer->update();
}

void NumberPlot::setClipped(bool clipped) {
  m_clipped = clipped;
  rescale();
  m_plot->replot(QCustomPlot::rpQueuedReplot);
  m_layer->update();
}

bool NumberPlot::logarithmic(int panel) const {
  return m_panels[at(panel)].rect->axis(QCPAxis::atLeft)->scaleType() == QCPAxis::stLogarithmic;
}

QString NumberPlot::panelTitle(int panel) const { return m_panels[at(panel)].title->text(); }

double NumberPlot::bottom(int panel) const { return m_panels[at(panel)].rect->axis(QCPAxis::atLeft)->range().lower; }

double NumberPlot::top(int panel) const { return m_panels[at(panel)].rect->axis(QCPAxis::atLeft)->range().upper; }

void NumberPlot::setShown(double tick) {
  m_shown = tick;
  m_layer->update();
}

void NumberPlot::setCursorAt(int place) {
  if (place == m_cursor || place >= static_cast<int>(m_ticks.size())) return;
  m_cursor = place;
  m_layer->update();
  emit cursorMoved(place);
}

void NumberPlot::moveCursor(int by) {
  const int last = static_cast<int>(m_ticks.size()) - 1;
  if (last >= 0) setCursorAt(std::clamp((m_cursor < 0 ? last : m_cursor) + by, 0, last));
}

void NumberPlot::zoom(double factor) {
  if (!bottom()) return;
  const int place = m_cursor;
  const double centre = place >= 0 ? m_ticks[at(place)] : bottom()->range().center();
  m_zoomed = true;
  bottom()->scaleRange(factor, centre);
  m_plot->replot(QCustomPlot::rpQueuedReplot);
  emit zoomChanged();
}

void NumberPlot::resetZoom() {
  wholeRange();
  m_plot->replot(QCustomPlot::rpQueuedReplot);
  m_layer->update();
  emit zoomChanged();
}

QPointF NumberPlot::pointOf(double tick) const {
  if (!bottom()) return {};
  return {bottom()->coordToPixel(tick), static_cast<double>(m_panels.front().rect->center().y())};
}

void NumberPlot::resizeEvent(QResizeEvent*) {
  m_plot->setGeometry(rect());
  m_layer->setGeometry(rect());
  rescale();
  m_plot->replot(QCustomPlot::rpQueuedRefresh);
}

void NumberPlot::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left: return moveCursor(-1);
    case Qt::Key_Right: return moveCursor(1);
    case Qt::Key_Home: return moveCursor(-static_cast<int>(m_ticks.size()));
    case Qt::Key_End: return moveCursor(static_cast<int>(m_ticks.size()));
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom(0.7);
    case Qt::Key_Minus: return zoom(1 / 0.7);
    case Qt::Key_0: return resetZoom();
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (m_cursor >= 0) emit picked(m_ticks[at(m_cursor)]);
      return;
    default: QWidget::keyPressEvent(event);
  }
}

bool NumberPlot::eventFilter(QObject* watched, QEvent* event) {
  const auto* mouse = dynamic_cast<QMouseEvent*>(event);
  const bool pointer = mouse || event->type() == QEvent::Wheel || event->type() == QEvent::Leave;
  if (watched != m_plot || !pointer || !bottom() || m_ticks.empty()) return QWidget::eventFilter(watched, event);
  const auto nearest = [&](const QPointF& point) {
    const double wanted = bottom()->pixelToCoord(point.x());
    const auto after = std::lower_bound(m_ticks.begin(), m_ticks.end(), wanted);
    auto place = after - m_ticks.begin();
    if (after == m_ticks.end() || (place > 0 && wanted - *(after - 1) < *after - wanted)) --place;
    return static_cast<int>(place);
  };
  switch (event->type()) {
    case QEvent::MouseButtonPress:
      setFocus();
      m_pressed = mouse->position();
      m_moved = false;
      break;
    case QEvent::MouseMove:
      if (mouse->buttons() & Qt::LeftButton) {
        m_moved = m_moved || (mouse->position() - m_pressed).manhattanLength() > 4;
        if (m_moved && !std::exchange(m_zoomed, true)) emit zoomChanged();
      }
      setCursorAt(nearest(mouse->position()));
      break;
    case QEvent::MouseButtonRelease:
      if (!m_moved && mouse->button() == Qt::LeftButton) emit picked(m_ticks[at(nearest(mouse->position()))]);
      break;
    case QEvent::MouseButtonDblClick: resetZoom(); return true;
    case QEvent::Wheel:
      m_zoomed = true;
      emit zoomChanged();
      break;
    case QEvent::Leave: setCursorAt(-1); break;
    default: break;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace kvlab
