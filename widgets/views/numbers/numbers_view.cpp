// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/numbers_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QToolButton>
#include <cmath>

#include "widgets/base/button_use.h"
#include "widgets/base/panes.h"
#include "widgets/base/view_registry.h"
#include "widgets/views/numbers/series_model.h"

namespace kvlab {
namespace {
constexpr int kWide = 560, kListWide = 290;  // the list is beside the plots from this width on
constexpr int kPaceMs = 100;                 // least time between two redraws while ticks arrive
}  // namespace

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
