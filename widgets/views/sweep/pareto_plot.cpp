// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/sweep/pareto_plot.h"

#include <algorithm>

#include "core/api/ids.h"
#include "widgets/base/format.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/sharp_plot.h"

namespace kvlab {
namespace {

constexpr int kWide = 620, kLegendFrom = 820;     // panels are side by side; the legend is beside them
constexpr int kLow = 170;                         // lower panels show no axis names
constexpr double kTickTall = 22, kTickWide = 56;  // room for an axis label
constexpr double kFloor = 1e-6, kReach = 16;      // smaller KL is drawn on the axis; pixels around a point
constexpr QCPScatterStyle::ScatterShape kShapes[] = {QCPScatterStyle::ssDisc,     QCPScatterStyle::ssSquare,
                                                     QCPScatterStyle::ssTriangle, QCPScatterStyle::ssDiamond,
                                                     QCPScatterStyle::ssCross,    QCPScatterStyle::ssTriangleInverted,
                                                     QCPScatterStyle::ssPlus};

class BytesTicker : public QCPAxisTickerLog {
 public:
  BytesTicker() {
    setLogBase(2);
    setSubTickCount(0);
  }

 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    return formatBytes(static_cast<qint64>(tick + 0.5));
  }
};

class DecadeTicker : public QCPAxisTickerLog {
 protected:
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    return tick < 1e-3 ? QString::number(tick, 'e', 0) : QString::number(tick, 'g', 3);
  }
};

/// The power of `base` per step at which the labels of the range fit.
double roomyBase(double base, const QCPRange& range, double labels) {
  const double powers = std::log(range.upper / range.lower) / std::log(base);
  return std::pow(base, std::max(1.0, std::ceil(powers / std::max(1.0, labels))));
}

double orFloor(double kl) { return std::max(kl, kFloor); }

}  // namespace

QCPAxis* ParetoPlot::PanelPart::x() const { return rect->axis(QCPAxis::atBottom); }
QCPAxis* ParetoPlot::PanelPart::y() const { return rect->axis(QCPAxis::atLeft); }

/// Coordinates of a point; empty if the panel does not show it.
std::optional<QPointF> ParetoPlot::place(const SweepPoint& point, int panel) const {
  if (panel == 1)
    return point.kl && point.bytes ? std::optional(QPointF(*point.bytes, orFloor(*point.kl))) : std::nullopt;
  const auto shown = point.shown();
  if (!shown) return std::nullopt;
  if (m_budgets) return QPointF(point.budget ? point.budget->value : 1, shown->value);
  return point.bytes ? std::optional(QPointF(*point.bytes, shown->value)) : std::nullopt;
}

void ParetoPlot::addCurve(PanelPart& part, int panel, int style) {
  QVector<double> x, y, below, above;
  bool flat = false;
  std::vector<const SweepPoint*> own;
  for (const SweepPoint& point : m_points)
    if (point.series == m_series[at(style)] && place(point, panel)) own.push_back(&point);
  std::stable_sort(own.begin(), own.end(),
                   [&](const auto* a, const auto* b) { return place(*a, panel)->x() < place(*b, panel)->x(); });
  for (const SweepPoint* point : own) {
    const QPointF at = *place(*point, panel);
    const auto shown = point->shown();
    x << at.x(), y << at.y(), below << (shown ? shown->value - shown->low : 0),
        above << (shown ? shown->high - shown->value : 0);
    flat = panel == 0 && m_budgets && !point->budget;
  }
  if (x.isEmpty()) return;
  Curve curve{style, m_plot->addGraph(part.x(), part.y()), nullptr, flat};
  curve.graph->setName(QString::fromStdString(m_series[at(style)]));
  curve.graph->setData(x, y, true);
  curve.graph->setAdaptiveSampling(false);
  curve.graph->removeFromLegend();
  if (panel == 0) {
    curve.bars = new QCPErrorBars(part.x(), part.y());
    curve.bars->removeFromLegend();
    curve.bars->setDataPlottable(curve.graph);
    curve.bars->setData(below, above);
    curve.bars->setWhiskerWidth(5);
  }
  part.curves.push_back(curve);
}

void ParetoPlot::range(PanelPart& part, int panel) {
  double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
  for (const SweepPoint& point : m_points)
    if (const auto at = place(point, panel)) {
      left = std::min(left, at->x()), right = std::max(right, at->x());
      low = std::min(low, at->y()), high = std::max(high, at->y());
    }
  if (!(left <= right)) left = right = low = high = 1;
  part.x()->setScaleType(QCPAxis::stLogarithmic);
  const double margin = std::max(1.12, std::pow(right / left, 0.05));
  part.x()->setRange(left / margin, right * margin);
  if (panel == 0) {
    part.y()->setRange(-0.02, 1.04);
  } else {
    part.y()->setScaleType(QCPAxis::stLogarithmic);
    const double room = std::max(1.6, std::pow(high / low, 0.06));
    part.y()->setRange(low / room, high * room);
    part.y()->setTicker(QSharedPointer<QCPAxisTicker>(new DecadeTicker));
  }
  if (panel == 1 || !m_budgets) return part.x()->setTicker(QSharedPointer<QCPAxisTicker>(new BytesTicker));
  part.x()->setTicker(QSharedPointer<QCPAxisTicker>(new QCPAxisTickerText));
}

/// Labels the budgets whose labels fit side by side.
void ParetoPlot::label(QCPAxisTickerText& ticker, double pixels) const {
  std::vector<double> values;
  for (const SweepPoint& point : m_points)
    if (point.budget) values.push_back(point.budget->value);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const QFontMetrics metrics(Theme::current()->small);
  ticker.clear();
  double taken = INFINITY;  // from the right: the label for all rows always fits
  for (auto budget = values.rbegin(); budget != values.rend(); ++budget) {
    const QString text = formatNumber(*budget);
    const double middle = values.size() < 2
        ? pixels
        : pixels * std::log(*budget / values.front()) / std::log(values.back() / values.front());
    const double half = metrics.horizontalAdvance(text) / 2.0 + 4;
    const bool room = middle + half <= taken;
    ticker.addTick(*budget, room ? text : QString());
    if (room) taken = middle - half;
  }
}

/// Names figure and unit of the panel if the axes do not show them.
void ParetoPlot::name(PanelPart& part, int panel, bool low) {
  const bool ratio =
      std::all_of(m_points.begin(), m_points.end(), [](const SweepPoint& p) { return !p.budget || p.budget->ratio; });
  const QString along = panel == 1 || !m_budgets ? QObject::tr("live bytes after the prompt")
      : ratio                                    ? QObject::tr("budget, share of the prompt's rows")
                                                 : QObject::tr("budget, tokens");
  const bool scored = std::any_of(m_points.begin(), m_points.end(), [](const SweepPoint& p) { return p.answers > 0; });
  const QString what = scored ? QObject::tr("Score") : QObject::tr("Recall");
  const QString up = panel == 1 ? QObject::tr("KL, nats")
      : scored                  ? QObject::tr("wanted texts in the answer")
                                : QObject::tr("answered right");
  part.x()->setLabel(low ? QString() : along);
  part.y()->setLabel(low ? QString() : up);
  const QString plain = panel == 1 ? QObject::tr("KL against bytes")
      : m_budgets                  ? QObject::tr("%1 against budget").arg(what)
                                   : QObject::tr("%1 against bytes").arg(what);
  const QString brief = panel == 1 ? QObject::tr("KL, nats, against live bytes")
      : !m_budgets                 ? QObject::tr("%1 against live bytes").arg(what)
      : ratio                      ? QObject::tr("%1 against share of rows").arg(what)
                                   : QObject::tr("%1 against tokens").arg(what);
  part.title->setText(low ? brief : plain);
}

/// Chooses names and labels for the available room.
void ParetoPlot::fit() {
  for (std::size_t i = 0; i < m_panels.size(); ++i) {
    PanelPart& part = m_panels[i];
    const double tall = m_wide ? m_plot->height() : m_plot->height() / 2.0,
                 across = (m_wide ? m_plot->width() * (m_keyed ? 0.4 : 0.5) : m_plot->width()) - kTickWide;
    const bool low = tall < kLow;
    name(part, static_cast<int>(i), low);
    const double labels = std::max(2.0, (tall - (low ? 46 : 64)) / kTickTall);
    if (i == 0) part.y()->ticker()->setTickCount(static_cast<int>(std::min(5.0, labels)));
    else if (const auto decades = part.y()->ticker().dynamicCast<QCPAxisTickerLog>())
      decades->setLogBase(roomyBase(10, part.y()->range(), labels));
    if (const auto bytes = part.x()->ticker().dynamicCast<BytesTicker>())
      bytes->setLogBase(roomyBase(2, part.x()->range(), across / kTickWide));
    if (const auto texts = part.x()->ticker().dynamicCast<QCPAxisTickerText>()) label(*texts, across);
  }
}

void ParetoPlot::addPanel(int panel) {
  PanelPart part;
  part.title = new QCPTextElement(m_plot);
  part.title->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
  part.title->setMargins(QMargins(8, 4, 4, 2));
  part.rect = new QCPAxisRect(m_plot, true);
  part.rect->setMinimumMargins(QMargins(0, 2, Theme::kMedium, 0));
  for (const auto side : {QCPAxis::atRight, QCPAxis::atTop}) part.rect->axis(side)->setVisible(false);
  const int row = m_wide ? 0 : 2 * panel, column = m_wide ? panel : 0;
  m_plot->plotLayout()->addElement(row, column, part.title);
  m_plot->plotLayout()->addElement(row + 1, column, part.rect);
  m_plot->plotLayout()->setRowStretchFactor(row, 0.001);
  for (std::size_t i = 0; i < m_series.size(); ++i) addCurve(part, panel, static_cast<int>(i));
  range(part, panel);
  m_panels.push_back(part);
}

void ParetoPlot::addLegend() {
  m_legend = new QCPLegend;
  m_plot->plotLayout()->addElement(1, 2, m_legend);
  m_plot->plotLayout()->setColumnStretchFactor(2, 0.001);
  m_legend->setLayer("legend");
  m_legend->setBorderPen(Qt::NoPen);
  m_legend->setMargins(QMargins(4, 0, 8, 0));
  m_legend->setRowSpacing(m_series.size() > 10 ? -4 : 0);
  for (const Curve& curve : m_panels.front().curves)
    m_legend->addItem(new QCPPlottableLegendItem(m_legend, curve.graph));
}

void ParetoPlot::build() {
  m_plot->clearPlottables();
  m_plot->plotLayout()->clear();
  m_plot->plotLayout()->setColumnSpacing(4);
  m_plot->plotLayout()->setRowSpacing(0);
  m_panels.clear();
  m_legend = nullptr;
  m_budgets = std::any_of(m_points.begin(), m_points.end(), [](const SweepPoint& p) { return p.budget.has_value(); });
  m_wide = m_plot->width() >= kWide;
  m_keyed = m_plot->width() >= kLegendFrom;
  for (int panel : {0, 1}) addPanel(panel);
  if (m_keyed) addLegend();
  fit();
  follow();
}

void ParetoPlot::follow() {
  const auto theme = Theme::current();
  followTheme(*m_plot);
  for (PanelPart& part : m_panels) {
    part.title->setFont(theme->smallStrong);
    part.title->setTextColor(theme->muted);
    for (Curve& curve : part.curves) {
      const QColor colour = seriesColour(curve.style, theme->dark);
      QPen pen(colour, 1.5);
      if (curve.flat) pen.setStyle(Qt::DashLine);
      curve.graph->setPen(pen);
      const auto shape = kShapes[at(curve.style) % std::size(kShapes)];
      curve.graph->setScatterStyle(QCPScatterStyle(shape, QPen(colour), QBrush(colour), 6));
      if (curve.bars) curve.bars->setPen(QPen(Theme::faded(colour, 150), 1));
    }
  }
  if (m_legend) {
    m_legend->setFont(theme->small);
    m_legend->setTextColor(theme->text);
    m_legend->setBrush(theme->surface);
  }
  m_plot->replot(QCustomPlot::rpImmediateRefresh);
  m_layer->update();
}

QPointF ParetoPlot::pointOf(int point, int panel) const {
  if (point < 0 || at(point) >= m_points.size() || m_panels.empty()) return {};
  const auto spot = place(m_points[at(point)], panel);
  const PanelPart& part = m_panels[at(panel)];
  return spot ? QPointF(part.x()->coordToPixel(spot->x()), part.y()->coordToPixel(spot->y())) : QPointF();
}

void ParetoPlot::paint(QPainter& painter) const {
  const auto theme = Theme::current();
  painter.setRenderHint(QPainter::Antialiasing);
  for (std::size_t p = 0; p < m_panels.size(); ++p) {
    for (const Curve& curve : m_panels[p].curves) {  // independent of the budget: a line across the panel
      if (!curve.flat) continue;
      const double y = m_panels[p].y()->coordToPixel(curve.graph->data()->constBegin()->value);
      painter.setPen(QPen(seriesColour(curve.style, theme->dark), 1, Qt::DashLine));
      painter.drawLine(QPointF(m_panels[p].rect->left(), y), QPointF(m_panels[p].rect->right(), y));
    }
    const QPointF at = pointOf(m_marked, static_cast<int>(p));
    if (at.isNull()) continue;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme->focus, 2));
    painter.drawEllipse(at, 8, 8);
  }
}

ParetoPlot::ParetoPlot(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Pareto plot"));
  setToolTip(
      tr("Recall against budget and KL against bytes; the pointer or arrow keys mark a point, a click or Return shows "
         "its cells"));
  m_plot = new SharpPlot(this);
  m_plot->setFocusPolicy(Qt::NoFocus);
  m_plot->setMouseTracking(true);
  m_plot->installEventFilter(this);
  m_layer = new PlotOverlay(this);
  m_layer->draw = [this](QPainter& painter) { paint(painter); };
  m_plot->plotLayout()->clear();
  follow();
}

ParetoPlot::~ParetoPlot() { m_plot->removeEventFilter(this); }

void ParetoPlot::show(std::vector<SweepPoint> points, std::vector<std::string> series) {
  m_points = std::move(points);
  m_series = std::move(series);
  m_marked = -1;
  build();
  m_layer->update();
}

void ParetoPlot::mark(int point) {
  if (point == m_marked) return;
  m_marked = point;
  m_layer->update();
  emit hovered(point);
}

void ParetoPlot::resizeEvent(QResizeEvent*) {
  m_plot->setGeometry(rect());
  m_layer->setGeometry(rect());
  if (m_wide != (width() >= kWide) || m_keyed != (width() >= kLegendFrom)) build();
  else {
    fit();
    m_plot->replot(QCustomPlot::rpImmediateRefresh);
  }
}

int ParetoPlot::nearest(const QPointF& at) const {
  int best = -1;
  double least = kReach;
  for (int i = 0; i < static_cast<int>(m_points.size()); ++i)
    for (int panel : {0, 1}) {
      const QPointF there = pointOf(i, panel);
      const double far = there.isNull() ? kReach : std::hypot(there.x() - at.x(), there.y() - at.y());
      if (far < least) best = i, least = far;
    }
  return best;
}

void ParetoPlot::keyPressEvent(QKeyEvent* event) {
  const int last = static_cast<int>(m_points.size()) - 1;
  if (last < 0) return QWidget::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_Right: return mark(m_marked < 0 ? 0 : std::min(last, m_marked + 1));
    case Qt::Key_Left: return mark(m_marked < 0 ? last : std::max(0, m_marked - 1));
    case Qt::Key_Home: return mark(0);
    case Qt::Key_End: return mark(last);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (m_marked >= 0) emit picked(m_marked);
      return;
    default: QWidget::keyPressEvent(event);
  }
}

bool ParetoPlot::eventFilter(QObject* watched, QEvent* event) {
  if (watched != m_plot) return QWidget::eventFilter(watched, event);
  const auto* mouse = dynamic_cast<QMouseEvent*>(event);
  if (event->type() == QEvent::MouseMove && mouse) mark(nearest(mouse->position()));
  if (event->type() == QEvent::MouseButtonPress) setFocus();
  if (event->type() == QEvent::MouseButtonRelease && mouse)
    if (const int point = nearest(mouse->position()); point >= 0) emit picked(point);
  if (event->type() == QEvent::Leave) mark(-1);
  return QWidget::eventFilter(watched, event);
}

}  // namespace kvlab
