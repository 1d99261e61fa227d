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
constexpr QCPScatterStyle::ScatterShape kShapes[] = {QCPScatterStyle::ssDisc, QCPScatterStyle::ssSquare,
                                                     QCPScatterStyle::ssTriangle, QCPScatterStyle::ssDiamond};

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

struct ParetoPlot::Parts {
  struct Curve {
    int style = 0;
    QCPGraph* graph = nullptr;
    QCPErrorBars* bars = nullptr;
    bool flat = false;  // the figure does not depend on the budget
  };
  struct PanelPart {
    QCPAxisRect* rect = nullptr;
    QCPTextElement* title = nullptr;
    std::vector<Curve> curves;
    QCPAxis* x() const { return rect->axis(QCPAxis::atBottom); }
    QCPAxis* y() const { return rect->axis(QCPAxis::atLeft); }
  };

  SharpPlot* plot = nullptr;
  PlotOverlay* layer = nullptr;
  std::vector<SweepPoint> points;
  std::vector<std::string> series;
  std::vector<PanelPart> panels;
  QCPLegend* legend = nullptr;
  bool budgets = false, wide = true, keyed = true;
  int marked = -1;

  std::optional<QPointF> place(const SweepPoint& point, int panel) const;
  void build();
  void addPanel(int panel);
  void addCurve(PanelPart& part, int panel, int style);
  void addLegend();
  void range(PanelPart& part, int panel);
  void name(PanelPart& part, int panel, bool low);
  void fit();
  void label(QCPAxisTickerText& ticker, double pixels) const;
  void follow();
  void paint(QPainter& painter) const;
  QPointF pixel(int point, int panel) const;
};

/// Coordinates of a point; empty if the panel does not show it.
std::optional<QPointF> ParetoPlot::Parts::place(const SweepPoint& point, int panel) const {
  if (panel == 1)
    return point.kl && point.bytes ? std::optional(QPointF(*point.bytes, orFloor(*point.kl))) : std::nullopt;
  if (point.asked == 0) return std::nullopt;
  if (budgets) return QPointF(point.budget ? point.budget->value : 1, point.recall);
  return point.bytes ? std::optional(QPointF(*point.bytes, point.recall)) : std::nullopt;
}

void ParetoPlot::Parts::addCurve(PanelPart& part, int panel, int style) {
  QVector<double> x, y, below, above;
  bool flat = false;
  std::vector<const SweepPoint*> own;
  for (const SweepPoint& point : points)
    if (point.series == series[at(style)] && place(point, panel)) own.push_back(&point);
  std::stable_sort(own.begin(), own.end(),
                   [&](const auto* a, const auto* b) { return place(*a, panel)->x() < place(*b, panel)->x(); });
  for (const SweepPoint* point : own) {
    const QPointF at = *place(*point, panel);
    x << at.x(), y << at.y(), below << point->recall - point->low, above << point->high - point->recall;
    flat = panel == 0 && budgets && !point->budget;
  }
  if (x.isEmpty()) return;
  Curve curve{style, plot->addGraph(part.x(), part.y()), nullptr, flat};
  curve.graph->setName(QString::fromStdString(series[at(style)]));
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

void ParetoPlot::Parts::range(PanelPart& part, int panel) {
  double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
  for (const SweepPoint& point : points)
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
  if (panel == 1 || !budgets) return part.x()->setTicker(QSharedPointer<QCPAxisTicker>(new BytesTicker));
  part.x()->setTicker(QSharedPointer<QCPAxisTicker>(new QCPAxisTickerText));
}

/// Labels the budgets whose labels fit side by side.
void ParetoPlot::Parts::label(QCPAxisTickerText& ticker, double pixels) const {
  std::vector<double> values;
  for (const SweepPoint& point : points)
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
void ParetoPlot::Parts::name(PanelPart& part, int panel, bool low) {
  const bool ratio =
      std::all_of(points.begin(), points.end(), [](const SweepPoint& p) { return !p.budget || p.budget->ratio; });
  const QString along = panel == 1 || !budgets ? QObject::tr("live bytes after the prompt")
      : ratio                                  ? QObject::tr("budget, share of the prompt's rows")
                                               : QObject::tr("budget, tokens");
  const QString up = panel == 0 ? QObject::tr("answered right") : QObject::tr("KL, nats");
  part.x()->setLabel(low ? QString() : along);
  part.y()->setLabel(low ? QString() : up);
  const QString plain = panel == 0
      ? budgets ? QObject::tr("Recall against budget") : QObject::tr("Recall against bytes")
      : QObject::tr("KL against bytes");
  const QString brief = panel == 1 ? QObject::tr("KL, nats, against live bytes")
      : !budgets                   ? QObject::tr("Recall against live bytes")
      : ratio                      ? QObject::tr("Recall against share of rows")
                                   : QObject::tr("Recall against tokens");
  part.title->setText(low ? brief : plain);
}

/// Chooses names and labels for the available room.
void ParetoPlot::Parts::fit() {
  for (std::size_t i = 0; i < panels.size(); ++i) {
    PanelPart& part = panels[i];
    const double tall = wide ? plot->height() : plot->height() / 2.0,
                 across = (wide ? plot->width() * (keyed ? 0.4 : 0.5) : plot->width()) - kTickWide;
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

void ParetoPlot::Parts::addPanel(int panel) {
  PanelPart part;
  part.title = new QCPTextElement(plot);
  part.title->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
  part.title->setMargins(QMargins(8, 4, 4, 2));
  part.rect = new QCPAxisRect(plot, true);
  part.rect->setMinimumMargins(QMargins(0, 2, Theme::kMedium, 0));
  for (const auto side : {QCPAxis::atRight, QCPAxis::atTop}) part.rect->axis(side)->setVisible(false);
  const int row = wide ? 0 : 2 * panel, column = wide ? panel : 0;
  plot->plotLayout()->addElement(row, column, part.title);
  plot->plotLayout()->addElement(row + 1, column, part.rect);
  plot->plotLayout()->setRowStretchFactor(row, 0.001);
  for (std::size_t i = 0; i < series.size(); ++i) addCurve(part, panel, static_cast<int>(i));
  range(part, panel);
  panels.push_back(part);
}

void ParetoPlot::Parts::addLegend() {
  legend = new QCPLegend;
  plot->plotLayout()->addElement(1, 2, legend);
  plot->plotLayout()->setColumnStretchFactor(2, 0.001);
  legend->setLayer("legend");
  legend->setBorderPen(Qt::NoPen);
  legend->setMargins(QMargins(4, 0, 8, 0));
  legend->setRowSpacing(series.size() > 10 ? -4 : 0);
  for (const Curve& curve : panels.front().curves) legend->addItem(new QCPPlottableLegendItem(legend, curve.graph));
}

void ParetoPlot::Parts::build() {
  plot->clearPlottables();
  plot->plotLayout()->clear();
  plot->plotLayout()->setColumnSpacing(4);
  plot->plotLayout()->setRowSpacing(0);
  panels.clear();
  legend = nullptr;
  budgets = std::any_of(points.begin(), points.end(), [](const SweepPoint& p) { return p.budget.has_value(); });
  wide = plot->width() >= kWide;
  keyed = plot->width() >= kLegendFrom;
  for (int panel : {0, 1}) addPanel(panel);
  if (keyed) addLegend();
  fit();
  follow();
}

void ParetoPlot::Parts::follow() {
  const auto theme = Theme::current();
  followTheme(*plot);
  for (PanelPart& part : panels) {
    part.title->setFont(theme->smallStrong);
    part.title->setTextColor(theme->muted);
    for (Curve& curve : part.curves) {
      const QColor colour = seriesColour(curve.style, theme->dark);
      QPen pen(colour, 1.5);
      if (curve.flat) pen.setStyle(Qt::DashLine);
      curve.graph->setPen(pen);
      const auto shape = kShapes[at(curve.style / kSeriesColours) % std::size(kShapes)];
      curve.graph->setScatterStyle(QCPScatterStyle(shape, QPen(colour), QBrush(colour), 6));
      if (curve.bars) curve.bars->setPen(QPen(Theme::faded(colour, 150), 1));
    }
  }
  if (legend) {
    legend->setFont(theme->small);
    legend->setTextColor(theme->text);
    legend->setBrush(theme->surface);
  }
  plot->replot(QCustomPlot::rpImmediateRefresh);
}

QPointF ParetoPlot::Parts::pixel(int point, int panel) const {
  if (point < 0 || at(point) >= points.size() || panels.empty()) return {};
  const auto spot = place(points[at(point)], panel);
  const PanelPart& part = panels[at(panel)];
  return spot ? QPointF(part.x()->coordToPixel(spot->x()), part.y()->coordToPixel(spot->y())) : QPointF();
}

void ParetoPlot::Parts::paint(QPainter& painter) const {
  const auto theme = Theme::current();
  painter.setRenderHint(QPainter::Antialiasing);
  for (std::size_t p = 0; p < panels.size(); ++p) {
    for (const Curve& curve : panels[p].curves) {  // independent of the budget: a line across the panel
      if (!curve.flat) continue;
      const double y = panels[p].y()->coordToPixel(curve.graph->data()->constBegin()->value);
      painter.setPen(QPen(seriesColour(curve.style, theme->dark), 1, Qt::DashLine));
      painter.drawLine(QPointF(panels[p].rect->left(), y), QPointF(panels[p].rect->right(), y));
    }
    const QPointF at = pixel(marked, static_cast<int>(p));
    if (at.isNull()) continue;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme->focus, 2));
    painter.drawEllipse(at, 8, 8);
  }
}

ParetoPlot::ParetoPlot(QWidget* parent) : QWidget(parent), m(std::make_unique<Parts>()) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Pareto plot"));
  setToolTip(
      tr("Recall against budget and KL against bytes; the pointer or arrow keys mark a point, a click or Return shows "
         "its cells"));
  m->plot = new SharpPlot(this);
  m->plot->setFocusPolicy(Qt::NoFocus);
  m->plot->setMouseTracking(true);
  m->plot->installEventFilter(this);
  m->layer = new PlotOverlay(this);
  m->layer->draw = [this](QPainter& painter) { m->paint(painter); };
  m->plot->plotLayout()->clear();
  m->follow();
}

ParetoPlot::~ParetoPlot() { m->plot->removeEventFilter(this); }

void ParetoPlot::show(std::vector<SweepPoint> points, std::vector<std::string> series) {
  m->points = std::move(points);
  m->series = std::move(series);
  m->marked = -1;
  m->build();
  m->layer->update();
}

const std::vector<SweepPoint>& ParetoPlot::points() const { return m->points; }
int ParetoPlot::marked() const { return m->marked; }
QPointF ParetoPlot::pointOf(int point, int panel) const { return m->pixel(point, panel); }

void ParetoPlot::mark(int point) {
  if (point == m->marked) return;
  m->marked = point;
  m->layer->update();
  emit hovered(point);
}

void ParetoPlot::follow() {
  m->follow();
  m->layer->update();
}

void ParetoPlot::resizeEvent(QResizeEvent*) {
  m->plot->setGeometry(rect());
  m->layer->setGeometry(rect());
  if (m->wide != (width() >= kWide) || m->keyed != (width() >= kLegendFrom)) m->build();
  else {
    m->fit();
    m->plot->replot(QCustomPlot::rpImmediateRefresh);
  }
}

int ParetoPlot::nearest(const QPointF& at) const {
  int best = -1;
  double least = kReach;
  for (int i = 0; i < static_cast<int>(m->points.size()); ++i)
    for (int panel : {0, 1}) {
      const QPointF there = m->pixel(i, panel);
      const double far = there.isNull() ? kReach : std::hypot(there.x() - at.x(), there.y() - at.y());
      if (far < least) best = i, least = far;
    }
  return best;
}

void ParetoPlot::keyPressEvent(QKeyEvent* event) {
  const int last = static_cast<int>(m->points.size()) - 1;
  if (last < 0) return QWidget::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_Right: return mark(m->marked < 0 ? 0 : std::min(last, m->marked + 1));
    case Qt::Key_Left: return mark(m->marked < 0 ? last : std::max(0, m->marked - 1));
    case Qt::Key_Home: return mark(0);
    case Qt::Key_End: return mark(last);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (m->marked >= 0) emit picked(m->marked);
      return;
    default: QWidget::keyPressEvent(event);
  }
}

bool ParetoPlot::eventFilter(QObject* watched, QEvent* event) {
  if (watched != m->plot) return QWidget::eventFilter(watched, event);
  const auto* mouse = dynamic_cast<QMouseEvent*>(event);
  if (event->type() == QEvent::MouseMove && mouse) mark(nearest(mouse->position()));
  if (event->type() == QEvent::MouseButtonPress) setFocus();
  if (event->type() == QEvent::MouseButtonRelease && mouse)
    if (const int point = nearest(mouse->position()); point >= 0) emit picked(point);
  if (event->type() == QEvent::Leave) mark(-1);
  return QWidget::eventFilter(watched, event);
}

}  // namespace kvlab
