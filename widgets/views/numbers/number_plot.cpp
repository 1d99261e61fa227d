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

/// Axis labels in the unit of the panel.
class PanelTicker : public QCPAxisTicker {
 public:
  explicit PanelTicker(Panel panel) : m_panel(panel) { setTickCount(4); }

 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    return formatIn(m_panel, std::abs(tick) < 1e-12 ? 0 : tick);
  }

 private:
  Panel m_panel;
};

/// The same for a logarithmic axis.
class LogPanelTicker : public QCPAxisTickerLog {
 public:
  explicit LogPanelTicker(Panel panel) : m_panel(panel) { setTickCount(4); }

 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override { return formatIn(m_panel, tick); }

 private:
  Panel m_panel;
};

constexpr double kPeak = 4;   // medians: a time above is a peak
constexpr int kFewTicks = 3;  // with fewer nothing is a peak

bool isTime(Panel panel) { return panel == Panel::Latency || panel == Panel::Operations; }
bool spansDecades(Panel panel) { return isTime(panel) || panel == Panel::Bytes; }
bool fromZero(Panel panel) { return panel != Panel::Rows && panel != Panel::Model && panel != Panel::Brightness; }
}  // namespace

struct NumberPlot::Parts {
  SharpPlot* plot = nullptr;
  PlotOverlay* layer = nullptr;
  std::vector<double> ticks;
  struct Curve {
    Series series;
    QVector<double> drawn;  // drawn values: sums if stacked
    int pen = 0;
    QCPGraph* graph = nullptr;
  };
  struct PanelPart {
    Panel panel = Panel::Latency;
    QCPAxisRect* rect = nullptr;
    QCPItemText* title = nullptr;
    PileFill* fill = nullptr;
    std::vector<Curve> curves;
    QVector<double> pile;  // sums of the stacked curves
    bool stacked = false, logarithmic = false;
    bool piles(const Curve& curve) const { return stacked && curve.series.id != QLatin1String("us.total"); }
  };
  std::vector<PanelPart> panels;
  std::vector<double> edits;         // ticks with an edit
  QPointer<QCPMarginGroup> margins;  // aligns the left edges
  double shown = -1;
  int cursor = -1;
  bool zoomed = false, syncing = false, moved = false, clipped = true, logarithmic = false;
  QPointF pressed;

  QCPAxis* bottom() const {
    return panels.empty() || !panels.front().rect ? nullptr : panels.front().rect->axis(QCPAxis::atBottom);
  }
  void build(const TickSeries& all, const std::vector<QString>& ids, bool stacked);
  void addPanel(PanelPart& part, int row, bool last);
  void fitTicks();
  void addCurves(PanelPart& part);
  void pile(PanelPart& part) const;
  void fill();
  void wholeRange();
  void rescale();
  void draw(PanelPart& part, const QCPRange& keys) const;
  void style(PanelPart& part, bool few) const;
  void rescaleDecades(PanelPart& part, const QCPRange& keys) const;
  double belowPeaks(PanelPart& part, const QCPRange& keys, double high) const;
  void paint(QPainter& painter) const;
  void paintAt(QPainter& painter, double tick, const QPen& pen) const;
  void paintDots(QPainter& painter) const;
  void paintEdits(QPainter& painter) const;
  void paintLabel(QPainter& painter, double tick) const;
  void follow();
  bool sameShape(const std::vector<PanelPart>& other) const;
};

void NumberPlot::Parts::pile(PanelPart& part) const {
  QVector<double> floor(static_cast<qsizetype>(ticks.size()), NAN);
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
void NumberPlot::Parts::draw(PanelPart& part, const QCPRange& keys) const {
  const auto columns = pixelColumns(ticks, keys.lower, keys.upper, std::max(1, plot->width()));
  const std::vector<int> piled = highest(part.pile, columns);
  for (Curve& curve : part.curves) {
    QVector<double> x, y;
    for (const int place : part.piles(curve) ? piled : extremes(curve.drawn, columns))
      x << ticks[at(place)], y << curve.drawn[place];
    curve.graph->setData(x, y, true);
  }
}

bool NumberPlot::Parts::sameShape(const std::vector<PanelPart>& other) const {
  return std::equal(panels.begin(), panels.end(), other.begin(), other.end(),
                    [](const PanelPart& a, const PanelPart& b) {
                      return a.panel == b.panel && a.stacked == b.stacked && a.logarithmic == b.logarithmic &&
                          std::equal(a.curves.begin(), a.curves.end(), b.curves.begin(), b.curves.end(),
                                     [](const Curve& x, const Curve& y) { return x.series.id == y.series.id; });
                    });
}

void NumberPlot::Parts::build(const TickSeries& all, const std::vector<QString>& ids, bool stacked) {
  ticks = all.ticks();
  edits = all.edits();
  std::vector<PanelPart> wanted;
  for (int p = 0; p < kPanels; ++p) {
    PanelPart part;
    part.panel = static_cast<Panel>(p);
    part.logarithmic = logarithmic && spansDecades(part.panel);
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
    for (std::size_t i = 0; i < panels.size(); ++i)
      for (std::size_t c = 0; c < panels[i].curves.size(); ++c) panels[i].curves[c].series = wanted[i].curves[c].series;
    return fill();
  }
  plot->clearGraphs();
  plot->clearItems();
  plot->plotLayout()->clear();
  panels = std::move(wanted);
  delete margins.data();
  margins = new QCPMarginGroup(plot);
  for (std::size_t i = 0; i < panels.size(); ++i) addPanel(panels[i], static_cast<int>(i), i + 1 == panels.size());
  fill();
  follow();
}

void NumberPlot::Parts::addPanel(PanelPart& part, int row, bool last) {
  part.rect = new QCPAxisRect(plot, true);
  part.rect->setMinimumMargins(QMargins(0, row == 0 ? 4 : 0, Theme::kLarge, 0));
  part.rect->setMarginGroup(QCP::msLeft | QCP::msRight, margins);
  part.rect->axis(QCPAxis::atRight)->setVisible(false);
  part.rect->axis(QCPAxis::atTop)->setVisible(false);
  part.rect->setRangeDrag(Qt::Horizontal);
  part.rect->setRangeZoom(Qt::Horizontal);
  part.rect->axis(QCPAxis::atBottom)->setTickLabels(last);
  part.rect->axis(QCPAxis::atLeft)->setScaleType(part.logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  part.rect->axis(QCPAxis::atLeft)
      ->setTicker(part.logarithmic ? QSharedPointer<QCPAxisTicker>(new LogPanelTicker(part.panel))
                                   : QSharedPointer<QCPAxisTicker>(new PanelTicker(part.panel)));
  auto whole = QSharedPointer<QCPAxisTicker>(new QCPAxisTickerFixed);
  static_cast<QCPAxisTickerFixed*>(whole.data())->setTickStep(1);
  static_cast<QCPAxisTickerFixed*>(whole.data())->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
  part.rect->axis(QCPAxis::atBottom)->setTicker(whole);
  plot->plotLayout()->addElement(row, 0, part.rect);
  part.title = new QCPItemText(plot);
  part.title->setClipToAxisRect(false);
  part.title->position->setType(QCPItemPosition::ptAxisRectRatio);
  part.title->position->setAxisRect(part.rect);
  part.title->setPositionAlignment(Qt::AlignLeft | Qt::AlignTop);
  part.title->position->setCoords(0, 0);
  part.title->setPadding(QMargins(6, 2, 4, 2));
  part.title->setText(title(part.panel));
  addCurves(part);
  QCPAxis* axis = part.rect->axis(QCPAxis::atBottom);
  QObject::connect(axis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), plot, [this](const QCPRange& range) {
    if (std::exchange(syncing, true)) return;
    for (PanelPart& other : panels) other.rect->axis(QCPAxis::atBottom)->setRange(range);
    rescale();
    layer->update();
    syncing = false;
  });
}

/// Low panels get fewer numbers, which would lie over one another.
void NumberPlot::Parts::fitTicks() {
  constexpr int kNumber = 20, kMost = 4;
  const int tall = plot->height() / std::max(1, static_cast<int>(panels.size()));
  for (PanelPart& part : panels)
    part.rect->axis(QCPAxis::atLeft)->ticker()->setTickCount(std::clamp(tall / kNumber, 1, kMost));
}

void NumberPlot::Parts::addCurves(PanelPart& part) {
  part.fill = new PileFill(part.rect);
  for (Curve& curve : part.curves)
    curve.graph = plot->addGraph(part.rect->axis(QCPAxis::atBottom), part.rect->axis(QCPAxis::atLeft));
}

void NumberPlot::Parts::fill() {
  for (PanelPart& part : panels) pile(part);
  cursor = std::min(cursor, static_cast<int>(ticks.size()) - 1);
  if (!zoomed) wholeRange();
  else rescale();
}

/// Few ticks have dots. Lines over many are one pixel of the screen thin, which Qt draws hundreds of times faster.
void NumberPlot::Parts::style(PanelPart& part, bool few) const {
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

void NumberPlot::Parts::wholeRange() {
  zoomed = false;
  if (ticks.empty() || !bottom()) return;
  const double pad = std::max(0.5, (ticks.back() - ticks.front()) * 0.01);
  syncing = true;
  for (PanelPart& part : panels) part.rect->axis(QCPAxis::atBottom)->setRange(ticks.front() - pad, ticks.back() + pad);
  syncing = false;
  rescale();
}

/// The upper end of the axis in a panel of times, `high` at most; the title names the ticks above it.
double NumberPlot::Parts::belowPeaks(PanelPart& part, const QCPRange& keys, double high) const {
  part.title->setText(title(part.panel));
  if (!clipped || !isTime(part.panel)) return high;
  std::vector<std::pair<double, double>> tops;  // highest value of a tick, and the tick
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    double top = -INFINITY;
    for (const Curve& curve : part.curves)
      if (const double value = curve.drawn[static_cast<qsizetype>(i)]; !std::isnan(value)) top = std::max(top, value);
    if (top > 0 && keys.contains(ticks[i])) tops.emplace_back(top, ticks[i]);
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
void NumberPlot::Parts::rescaleDecades(PanelPart& part, const QCPRange& keys) const {
  double low = INFINITY, high = 0;
  for (const Curve& curve : part.curves)
    for (qsizetype i = 0; i < curve.drawn.size(); ++i)
      if (curve.drawn[i] > 0 && keys.contains(ticks[at(i)]))
        low = std::min(low, curve.drawn[i]), high = std::max(high, curve.drawn[i]);
  if (high <= 0) low = high = 1;
  part.title->setText(title(part.panel));
  part.rect->axis(QCPAxis::atLeft)->setRange(low / 1.5, high * 1.5 * std::pow(high / low, 0.28));
}

void NumberPlot::Parts::rescale() {
  const QCPRange keys = bottom() ? bottom()->range() : QCPRange();
  int inSight = 0;
  for (double tick : ticks) inSight += keys.contains(tick);
  for (PanelPart& part : panels) {
    draw(part, keys);
    style(part, inSight <= kDotsUpTo);
    if (part.logarithmic) {
      rescaleDecades(part, keys);
      continue;
    }
    double low = fromZero(part.panel) ? 0 : INFINITY, high = fromZero(part.panel) ? 0 : -INFINITY;
    for (Curve& curve : part.curves) {
      for (qsizetype i = 0; i < curve.drawn.size(); ++i)
        if (!std::isnan(curve.drawn[i]) && keys.contains(ticks[at(i)]))
          low = std::min(low, curve.drawn[i]), high = std::max(high, curve.drawn[i]);
    }
    if (!std::isfinite(low)) low = 0, high = 1;
    high = belowPeaks(part, keys, high);
    const double least = part.panel == Panel::Model && high > 0 ? 0 : 1;  // probabilities and KL may be tiny
    const double span = high > low ? high - low : std::max(least, std::abs(high) * 0.1);
    part.rect->axis(QCPAxis::atLeft)->setRange(fromZero(part.panel) ? low : low - span * 0.08, high + span * 0.28);
  }
}

void NumberPlot::Parts::follow() {
  const auto theme = Theme::current();
  followTheme(*plot);
  for (PanelPart& part : panels) {
    part.title->setFont(theme->smallStrong);
    part.title->setColor(theme->muted);
    part.title->setBrush(Theme::faded(theme->surface, 200));
  }
  rescale();
  plot->replot();
}

void NumberPlot::Parts::paintAt(QPainter& painter, double tick, const QPen& pen) const {
  if (!bottom() || !bottom()->range().contains(tick)) return;
  const double x = bottom()->coordToPixel(tick);
  painter.setPen(pen);
  painter.drawLine(QPointF(x, panels.front().rect->top()), QPointF(x, panels.back().rect->bottom()));
}

/// A triangle above the plots for each tick with an edit.
void NumberPlot::Parts::paintEdits(QPainter& painter) const {
  const auto theme = Theme::current();
  const double top = panels.front().rect->top();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme->warning);
  double last = -INFINITY;
  for (const double tick : edits) {
    const double x = bottom()->coordToPixel(tick);
    if (!bottom()->range().contains(tick) || x < last + 1) continue;
    last = x;
    painter.drawPolygon(QPolygonF({{x - 4, top - 4}, {x + 4, top - 4}, {x, top + 3}}));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void NumberPlot::Parts::paintDots(QPainter& painter) const {
  const auto theme = Theme::current();
  painter.setRenderHint(QPainter::Antialiasing);
  for (const PanelPart& part : panels)
    for (const Curve& curve : part.curves) {
      const double value = curve.drawn[cursor];
      if (std::isnan(value)) continue;
      const QPointF dot(bottom()->coordToPixel(ticks[at(cursor)]),
                        part.rect->axis(QCPAxis::atLeft)->coordToPixel(value));
      painter.setPen(QPen(theme->surface, 1.5));
      painter.setBrush(seriesColour(curve.pen, theme->dark));
      painter.drawEllipse(dot, 4, 4);
    }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void NumberPlot::Parts::paintLabel(QPainter& painter, double tick) const {
  const auto theme = Theme::current();
  const QString text = QObject::tr("tick %1").arg(tick, 0, 'f', 0);
  painter.setFont(theme->smallStrong);
  const int wide = painter.fontMetrics().horizontalAdvance(text) + 12;
  const double x = std::clamp(bottom()->coordToPixel(tick) - wide / 2.0, 0.0, layer->width() - wide - 0.0);
  const QRectF box(x, panels.back().rect->bottom() + 2, wide, 17);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme->accent);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.drawRoundedRect(box, 3, 3);
  painter.setPen(theme->accentText);
  painter.drawText(box, Qt::AlignCenter, text);
}

void NumberPlot::Parts::paint(QPainter& painter) const {
  if (panels.empty() || ticks.empty()) return;
  const auto theme = Theme::current();
  paintAt(painter, shown, QPen(theme->accent, 1));
  paintEdits(painter);
  if (cursor < 0) return;
  const double tick = ticks[at(cursor)];
  if (!bottom()->range().contains(tick)) return;
  paintAt(painter, tick, QPen(theme->muted, 1, Qt::DotLine));
  paintDots(painter);
  paintLabel(painter, tick);
}

NumberPlot::NumberPlot(QWidget* parent) : QWidget(parent), m_parts(std::make_unique<Parts>()) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Plots over ticks"));
  setToolTip(
      tr("Wheel zooms, dragging pans, a double click or 0 shows all ticks; arrow keys move the cursor, Return or a "
         "click goes to the tick. A triangle above the plots marks a tick with an edit."));
  m_parts->plot = new SharpPlot(this);
  m_parts->plot->setFocusPolicy(Qt::NoFocus);
  m_parts->plot->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
  m_parts->plot->setNoAntialiasingOnDrag(false);
  m_parts->plot->setPlottingHint(QCP::phFastPolylines);
  m_parts->plot->setMouseTracking(true);
  m_parts->plot->installEventFilter(this);
  connect(m_parts->plot, &QCustomPlot::beforeReplot, this, [this] { m_parts->fitTicks(); });
  m_parts->plot->plotLayout()->setRowSpacing(kPanelGap);
  m_parts->layer = new PlotOverlay(this);
  m_parts->layer->draw = [this](QPainter& painter) { m_parts->paint(painter); };
  m_parts->plot->plotLayout()->clear();
  follow();
}

NumberPlot::~NumberPlot() { m_parts->plot->removeEventFilter(this); }

void NumberPlot::show(const TickSeries& series, const std::vector<QString>& ids, bool stacked) {
  m_parts->build(series, ids, stacked);
  m_parts->plot->replot(QCustomPlot::rpQueuedRefresh);
  m_parts->layer->update();
}

void NumberPlot::setClipped(bool clipped) {
  m_parts->clipped = clipped;
  m_parts->rescale();
  m_parts->plot->replot(QCustomPlot::rpQueuedReplot);
  m_parts->layer->update();
}

void NumberPlot::setLogarithmic(bool logarithmic) { m_parts->logarithmic = logarithmic; }

bool NumberPlot::logarithmic(int panel) const {
  return m_parts->panels[at(panel)].rect->axis(QCPAxis::atLeft)->scaleType() == QCPAxis::stLogarithmic;
}

QString NumberPlot::panelTitle(int panel) const { return m_parts->panels[at(panel)].title->text(); }

double NumberPlot::bottom(int panel) const {
  return m_parts->panels[at(panel)].rect->axis(QCPAxis::atLeft)->range().lower;
}

double NumberPlot::top(int panel) const {
  return m_parts->panels[at(panel)].rect->axis(QCPAxis::atLeft)->range().upper;
}

void NumberPlot::setShown(double tick) {
  m_parts->shown = tick;
  m_parts->layer->update();
}

int NumberPlot::cursor() const { return m_parts->cursor; }

void NumberPlot::setCursorAt(int place) {
  if (place == m_parts->cursor || place >= static_cast<int>(m_parts->ticks.size())) return;
  m_parts->cursor = place;
  m_parts->layer->update();
  emit cursorMoved(place);
}

void NumberPlot::moveCursor(int by) {
  const int last = static_cast<int>(m_parts->ticks.size()) - 1;
  if (last >= 0) setCursorAt(std::clamp((m_parts->cursor < 0 ? last : m_parts->cursor) + by, 0, last));
}

void NumberPlot::zoom(double factor) {
  if (!m_parts->bottom()) return;
  const int place = m_parts->cursor;
  const double centre = place >= 0 ? m_parts->ticks[at(place)] : m_parts->bottom()->range().center();
  m_parts->zoomed = true;
  m_parts->bottom()->scaleRange(factor, centre);
  m_parts->plot->replot(QCustomPlot::rpQueuedReplot);
  emit zoomChanged();
}

void NumberPlot::resetZoom() {
  m_parts->wholeRange();
  m_parts->plot->replot(QCustomPlot::rpQueuedReplot);
  m_parts->layer->update();
  emit zoomChanged();
}

bool NumberPlot::zoomed() const { return m_parts->zoomed; }
int NumberPlot::panels() const { return static_cast<int>(m_parts->panels.size()); }

QPointF NumberPlot::pointOf(double tick) const {
  if (!m_parts->bottom()) return {};
  return {m_parts->bottom()->coordToPixel(tick), static_cast<double>(m_parts->panels.front().rect->center().y())};
}

void NumberPlot::follow() {
  m_parts->follow();
  m_parts->layer->update();
}

void NumberPlot::resizeEvent(QResizeEvent*) {
  m_parts->plot->setGeometry(rect());
  m_parts->layer->setGeometry(rect());
  m_parts->rescale();
  m_parts->plot->replot(QCustomPlot::rpQueuedRefresh);
}

void NumberPlot::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left: return moveCursor(-1);
    case Qt::Key_Right: return moveCursor(1);
    case Qt::Key_Home: return moveCursor(-static_cast<int>(m_parts->ticks.size()));
    case Qt::Key_End: return moveCursor(static_cast<int>(m_parts->ticks.size()));
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom(0.7);
    case Qt::Key_Minus: return zoom(1 / 0.7);
    case Qt::Key_0: return resetZoom();
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (m_parts->cursor >= 0) emit picked(m_parts->ticks[at(m_parts->cursor)]);
      return;
    default: QWidget::keyPressEvent(event);
  }
}

bool NumberPlot::eventFilter(QObject* watched, QEvent* event) {
  Parts& parts = *m_parts;
  const auto* mouse = dynamic_cast<QMouseEvent*>(event);
  const bool pointer = mouse || event->type() == QEvent::Wheel || event->type() == QEvent::Leave;
  if (watched != parts.plot || !pointer || !parts.bottom() || parts.ticks.empty())
    return QWidget::eventFilter(watched, event);
  const auto nearest = [&](const QPointF& point) {
    const double wanted = parts.bottom()->pixelToCoord(point.x());
    const auto after = std::lower_bound(parts.ticks.begin(), parts.ticks.end(), wanted);
    auto place = after - parts.ticks.begin();
    if (after == parts.ticks.end() || (place > 0 && wanted - *(after - 1) < *after - wanted)) --place;
    return static_cast<int>(place);
  };
  switch (event->type()) {
    case QEvent::MouseButtonPress:
      setFocus();
      parts.pressed = mouse->position();
      parts.moved = false;
      break;
    case QEvent::MouseMove:
      if (mouse->buttons() & Qt::LeftButton) {
        parts.moved = parts.moved || (mouse->position() - parts.pressed).manhattanLength() > 4;
        if (parts.moved && !std::exchange(parts.zoomed, true)) emit zoomChanged();
      }
      setCursorAt(nearest(mouse->position()));
      break;
    case QEvent::MouseButtonRelease:
      if (!parts.moved && mouse->button() == Qt::LeftButton) emit picked(parts.ticks[at(nearest(mouse->position()))]);
      break;
    case QEvent::MouseButtonDblClick: resetZoom(); return true;
    case QEvent::Wheel:
      parts.zoomed = true;
      emit zoomChanged();
      break;
    case QEvent::Leave: setCursorAt(-1); break;
    default: break;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace kvlab
