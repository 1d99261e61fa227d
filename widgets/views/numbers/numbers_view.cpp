// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/numbers_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "widgets/base/button_use.h"
#include "widgets/base/panes.h"
#include "widgets/base/theme.h"
#include "widgets/base/view_registry.h"

namespace kvlab {
namespace {
// Each stands for a whole group of series: every step of a tick, every watch.
const QString kSteps = QStringLiteral("us.*"), kWatched = QStringLiteral("watch.*");

/// The group that a series is in; empty = none.
QString groupOf(const QString& id) {
  if (id.startsWith(QLatin1String("watch."))) return kWatched;
  return id.startsWith(QLatin1String("us.")) && id != QLatin1String("us.total") ? kSteps : QString();
}

std::vector<SeriesLine> linesOf(const TickSeries& series, int cursor) {
  std::vector<SeriesLine> lines;
  for (int p = 0; p < kPanels; ++p) {
    const auto panel = static_cast<Panel>(p);
    std::vector<SeriesLine> known;
    int pen = 0;
    for (const Series& one : series.series()) {
      if (one.panel != panel) continue;
      const bool any = std::any_of(one.values.begin(), one.values.end(), [](double v) { return !std::isnan(v); });
      const double value = cursor < 0 ? std::nan("") : one.values[at(cursor)];
      if (any) known.push_back({one.id, one.title, formatIn(panel, value), pen});
      ++pen;
    }
    if (known.empty()) continue;
    lines.push_back({{}, title(panel), unit(panel)});
    lines.insert(lines.end(), known.begin(), known.end());
  }
  return lines;
}

constexpr int kWide = 560, kListWide = 290;  // the list is beside the plots from this width on
constexpr int kPaceMs = 100;                 // least time between two redraws while ticks arrive
}  // namespace

SeriesModel::SeriesModel(QObject* parent)
    : LineModel(parent),
      m_on{kSteps, kWatched, QStringLiteral("rows.length"), QStringLiteral("rows.stale"), QStringLiteral("model.kl")} {
  using Line = const SeriesLine&;
  add("series", tr("Series"), {}, {}, [](Line line) { return line.title; }).with(Qt::CheckStateRole, [this](Line line) {
    return line.id.isEmpty() ? QVariant() : QVariant(static_cast<int>(on(line) ? Qt::Checked : Qt::Unchecked));
  });
  addNumber("value", tr("Value"), {}, {}, [](Line line) { return line.value; });
  withLines(IdRole, [](Line line) { return line.id; });
  withLines(HeadingRole, [](Line line) { return line.id.isEmpty(); });
  withLines(OnRole, [this](Line line) { return on(line); });
  withLines(PenRole, [](Line line) { return line.pen; });
}

bool SeriesModel::on(const SeriesLine& line) const {
  return m_on.count(line.id) > 0 || m_on.count(groupOf(line.id)) > 0;
}

void SeriesModel::show(const TickSeries& series, int cursor) {
  std::vector<SeriesLine> given = linesOf(series, cursor);
  const bool same = std::equal(given.begin(), given.end(), lines().begin(), lines().end(),
                               [](const auto& a, const auto& b) { return a.id == b.id && a.title == b.title; });
  replace(std::move(given), same);
}

std::vector<QString> SeriesModel::chosen() const {
  std::vector<QString> ids;
  for (const SeriesLine& line : lines())
    if (!line.id.isEmpty() && on(line)) ids.push_back(line.id);
  return ids;
}

void SeriesModel::setOn(const QString& id, bool wanted) {
  const QString group = groupOf(id);
  if (m_on.erase(group))  // from now on its series are chosen one by one
    for (const SeriesLine& line : lines())
      if (groupOf(line.id) == group) m_on.insert(line.id);
  wanted ? static_cast<void>(m_on.insert(id)) : static_cast<void>(m_on.erase(id));
  changed();
  emit chosenChanged();
}

bool SeriesModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::CheckStateRole || index.column() != columnOf("series")) return false;
  const QString id = at(index).id;
  if (id.isEmpty()) return false;
  setOn(id, value.toInt() == Qt::Checked);
  return true;
}

Qt::ItemFlags SeriesModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  if (at(index).id.isEmpty()) return Qt::ItemIsEnabled;
  const Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  return index.column() == columnOf("series") ? flags | Qt::ItemIsUserCheckable : flags;
}

namespace {
void paintBox(QPainter& painter, const QRectF& box, bool on, const QColor& colour, const Theme& theme) {
  painter.setPen(QPen(on ? colour : theme.faint, 1));
  painter.setBrush(on ? colour : QColor(Qt::transparent));
  painter.drawRoundedRect(box, 2, 2);
  if (!on) return;
  painter.setPen(QPen(theme.dark ? theme.sunken : theme.surface, 1.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPolyline(QPolygonF(
      {box.topLeft() + QPointF(2.4, 5.6), box.topLeft() + QPointF(4.6, 7.9), box.topLeft() + QPointF(8.6, 3)}));
}

void paintSeries(QPainter& painter, const QRect& rect, const QModelIndex& index, const Theme& theme) {
  const bool on = index.data(SeriesModel::OnRole).toBool();
  const int pen = index.data(SeriesModel::PenRole).toInt();
  const double middle = rect.center().y() + 0.5;
  painter.setRenderHint(QPainter::Antialiasing);
  paintBox(painter, QRectF(rect.left() + 10, middle - 5.5, 11, 11), on, seriesColour(pen, theme.dark), theme);
  painter.setPen(on ? seriesPen(pen, theme.dark, 2) : QPen(theme.border, 2));
  painter.drawLine(QPointF(rect.left() + 29, middle), QPointF(rect.left() + 51, middle));
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setFont(theme.ui);
  painter.setPen(on ? theme.text : theme.muted);
  painter.drawText(rect.adjusted(59, 0, 0, 0), Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, rect.width() - 61));
}
}  // namespace

void SeriesDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  const bool heading = index.data(SeriesModel::HeadingRole).toBool();
  const bool value = index.column() > 0;
  if (heading) painter->fillRect(option.rect, theme->raised);
  else if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme->selection);
  else if (option.state & QStyle::State_MouseOver) painter->fillRect(option.rect, Theme::faded(theme->accent, 28));
  if (heading || value) {
    painter->setFont(heading ? (value ? theme->small : theme->smallStrong) : theme->mono);
    painter->setPen(heading ? theme->muted : index.data(SeriesModel::OnRole).toBool() ? theme->text : theme->faint);
    painter->drawText(option.rect.adjusted(8, 0, -8, 0), (value ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter,
                      index.data().toString());
  } else {
    paintSeries(*painter, option.rect, index, *theme);
  }
  painter->restore();
}

bool SeriesDelegate::editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem&,
                                 const QModelIndex& index) {
  const bool clicked =
      event->type() == QEvent::MouseButtonRelease && static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton;
  const bool space = event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space;
  const QModelIndex name = index.siblingAtColumn(0);
  if (!(clicked || space) || !(name.flags() & Qt::ItemIsUserCheckable)) return false;
  const bool on = name.data(SeriesModel::OnRole).toBool();
  return model->setData(name, static_cast<int>(on ? Qt::Unchecked : Qt::Checked), Qt::CheckStateRole);
}

NumbersView::NumbersView(InspectorContext& context, QWidget* parent)
    : InspectorView(context, parent), m_model(new SeriesModel(this)), m_ask(context, this, "numbers.brightness") {
  makeStrip();
  makeBody();
  connect(m_model, &SeriesModel::chosenChanged, this, &NumbersView::refresh);
  connect(m_plot, &NumberPlot::cursorMoved, this, &NumbersView::showValues);
  connect(m_plot, &NumberPlot::picked, this, [this](double tick) { clickTick(Tick(static_cast<std::int64_t>(tick))); });
  m_pace.setSingleShot(true);
  m_pace.setInterval(kPaceMs);
  connect(&m_pace, &QTimer::timeout, this, [this] {
    if (std::exchange(m_late, false)) refreshSoon();
  });
  connect(m_plot, &NumberPlot::zoomChanged, this, [this] { m_reset->setEnabled(m_plot->zoomed()); });
}

void NumbersView::makeStrip() {
  m_at = stripLabel({}, 1);
  stripTickLimits();
  m_stacked = stripTool(tr("Stack steps"), tr("Stack the steps of a tick; their sum is the tick's latency"));
  m_stacked->setCheckable(true);
  m_stacked->setChecked(true);
  m_clip = stripTool(tr("Clip peaks"),
                     tr("End the axes of times below rare peaks, such as that of a prompt; the title names the peaks"));
  m_clip->setCheckable(true);
  m_clip->setChecked(true);
  m_log = stripTool(tr("Log scale"), tr("Show times and bytes on logarithmic axes, steps beside each other"));
  m_log->setCheckable(true);
  m_reset = stripTool(tr("Show all ticks"), tr("Undo zoom and pan (0, or a double click)"));
  m_reset->setEnabled(false);
  m_copy = stripTool(tr("Copy CSV"), tr("Copy the shown series as comma-separated values"));
  connect(m_stacked, &QToolButton::toggled, this, &NumbersView::refresh);
  connect(m_reset, &QToolButton::clicked, this, [this] { m_plot->resetZoom(); });
  connect(m_copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(csv()); });
}

void NumbersView::makeBody() {
  m_content = new TurningSplitter(
      kWide, [](int) { return kListWide; }, [](int height) { return height * 2 / 5; }, this);
  m_list = new DataTable(m_content, m_model, tr("Series"),
                         tr("Click or Space shows or hides a series; the number is its value at the cursor"));
  m_list->setItemDelegate(new SeriesDelegate(m_list));
  m_list->horizontalHeader()->hide();
  m_list->stretch({"series"});
  m_list->setColumnWidth(m_list->columnOf("value"), 92);
  m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_plot = new NumberPlot(m_content);
  m_content->addWidget(m_list);
  m_content->addWidget(m_plot);
  m_content->setStretchFactor(1, 1);
  addOption("clip", m_clip, [this] { m_plot->setClipped(m_clip->isChecked()); });
  addOption("log", m_log, [this] {
    m_plot->setLogarithmic(m_log->isChecked());
    refresh();
  });
  setContent(m_content);
  setMainControl(m_list);
}

void NumbersView::onSnapshot() {
  m_series.update(context().history());
  if (const qint64 bytes = context().programBytes(); bytes > 0 && !context().history().empty()) {
    const QString id = QStringLiteral("bytes.program");
    m_series.know(id, tr("program in memory"), Panel::Bytes);
    m_series.sample(id, context().history().back()->tick, static_cast<double>(bytes));
  }
  refreshSoon();
  if (hasRows() && newest()) askBrightness();
}

void NumbersView::askBrightness() {
  TileRequest request;
  request.layer = CacheLayer(static_cast<std::int32_t>(shown()->layers.size()) - 1);
  if (request.layer->value() < 0) return;
  m_ask.fetch(request, [this](std::shared_ptr<const Tile> tile) {
    double sum = 0, least = INFINITY;
    int known = 0;
    for (float value : tile ? tile->values : std::vector<float>())
      if (!std::isnan(value)) {
        const auto bright = static_cast<double>(value);
        sum += bright, least = std::min(least, bright), ++known;
      }
    if (!known) return;
    m_series.sample(QStringLiteral("brightness.mean"), tile->tick, sum / known);
    m_series.sample(QStringLiteral("brightness.min"), tile->tick, least);
    refreshSoon();
  });
}

/// Redraws now, or later if the last redraw was too recent.
void NumbersView::refreshSoon() {
  if (m_pace.isActive()) {
    m_late = true;
    return;
  }
  refresh();
  m_pace.start();
}

void NumbersView::refresh() {
  const auto& limits = context().tickLimits();
  m_limited = limits ? std::optional(m_series.within(static_cast<double>(limits->first.value()),
                                                     static_cast<double>(limits->last.value())))
                     : std::nullopt;
  const bool any = plotted().ticks().size() > 0;
  setEmpty(any ? QString() : tr("Figures over ticks"), emptyHow());
  for (QToolButton* one : {m_stacked, m_clip, m_log, m_copy}) one->setEnabled(any);
  showValues();
  m_plot->show(plotted(), m_model->chosen(), m_stacked->isChecked());
  m_plot->setShown(shown() ? static_cast<double>(shown()->tick.value()) : -1);
}

QString NumbersView::emptyHow() const {
  if (!shown()) return noSessionHow();
  if (context().tickLimits() && !m_series.ticks().empty())
    return tr("No tick of the history lies within the limits; the button above shows all ticks.");
  return tr("Step (F10) to plot latency, bytes, rows, brightness and drift.");
}

void NumbersView::showValues() {
  const int cursor = m_plot->cursor();  // cursor in the series as last plotted: undo may have taken its tick
  const bool there = cursor >= 0 && at(cursor) < plotted().ticks().size();
  const int place = there ? cursor : shown() ? plotted().nearest(static_cast<double>(shown()->tick.value())) : -1;
  m_model->show(plotted(), place);
  m_at->setText(place < 0 ? QString() : tr("values at tick %1").arg(plotted().ticks()[at(place)], 0, 'f', 0));
}

void NumbersView::onTheme() {
  if (m_plot) m_plot->follow();
}

QString NumbersView::csv() const { return plotted().csv(m_model->chosen()); }

QString NumbersView::tsv() const {
  return plotted().ticks().empty() ? QString() : csv().replace(QLatin1Char(','), QLatin1Char('\t'));
}

QString NumbersView::dump() const {
  if (plotted().ticks().empty()) return QStringLiteral("numbers: no tick\n");
  return QStringLiteral("numbers: %1\n").arg(m_at->text()) + csv();
}

}  // namespace kvlab

KVLAB_DEFINE_VIEW(NumbersView)
