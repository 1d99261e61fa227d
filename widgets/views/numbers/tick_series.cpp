// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/tick_series.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "widgets/base/event_tree.h"
#include "widgets/base/format.h"

namespace kvlab {
namespace {
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Known {
  const char *id, *title;
  Panel panel;
};
constexpr Known kKnown[] = {{"us.total", "whole tick", Panel::Latency},
                            {"bytes.tick", "moved by tick", Panel::Bytes},
                            {"bytes.commit", "moved by commit", Panel::Bytes},
                            {"bytes.live", "live rows", Panel::Bytes},
                            {"rows.length", "context length", Panel::Rows},
                            {"rows.resident.mean", "resident (mean)", Panel::Rows},
                            {"rows.resident.min", "resident (least)", Panel::Rows},
                            {"rows.stale", "stale", Panel::Rows},
                            {"rows.ledger", "ledger", Panel::Rows},
                            {"brightness.mean", "mean", Panel::Brightness},
                            {"brightness.min", "darkest row", Panel::Brightness},
                            {"model.kl", "KL to a rebuild", Panel::Model},
                            {"model.top1", "p of the best token", Panel::Model},
                            {"count.violations", "violations", Panel::Counts},
                            {"count.broken", "broken invariants", Panel::Counts},
                            {"count.actions", "actions", Panel::Counts}};
}  // namespace

QString title(Panel panel) {
  static constexpr std::array kTitles = {"Latency by step", "Operations",     "Bytes",  "Rows",   "Brightness",
                                         "Model: KL, p",    "Scales of rows", "Counts", "Watches"};
  return QCoreApplication::translate("kvlab", kTitles[static_cast<std::size_t>(panel)]);
}

QString unit(Panel panel) {
  static constexpr std::array kUnits = {"µs", "µs", "B", "rows", "0–255", "", "", "", ""};
  return QString::fromUtf8(kUnits[static_cast<std::size_t>(panel)]);
}

QString formatIn(Panel panel, double value) {
  if (std::isnan(value)) return QStringLiteral("–");
  if (panel == Panel::Latency || panel == Panel::Operations) return formatMicroseconds(value);
  if (panel == Panel::Bytes) return formatBytes(static_cast<qint64>(value));
  return formatNumber(value);
}

TickSeries::TickSeries() { forget(); }

void TickSeries::clear() {
  m_reader = {};
  forget();
}

void TickSeries::forget() {
  m_ticks.clear();
  m_edits.clear();
  m_series.clear();
  m_places.clear();
  for (const Known& known : kKnown) {
    m_places[QLatin1String(known.id)] = m_series.size();
    m_series.push_back({QLatin1String(known.id), QLatin1String(known.title), known.panel});
  }
}

bool TickSeries::update(HistoryReader::History history) {
  auto [unread, again] = m_reader.read(history);
  if (unread == history.end() && (!again || m_ticks.empty())) return false;
  if (again) forget();
  if (!history.empty()) dropBefore(static_cast<double>(history.front()->tick.value()));
  for (; unread != history.end(); ++unread) append(**unread);
  return true;
}

void TickSeries::dropBefore(double tick) {
  const auto gone = std::lower_bound(m_ticks.begin(), m_ticks.end(), tick) - m_ticks.begin();
  if (gone == 0) return;
  m_ticks.erase(m_ticks.begin(), m_ticks.begin() + gone);
  m_edits.erase(m_edits.begin(), std::lower_bound(m_edits.begin(), m_edits.end(), tick));
  for (Series& series : m_series) series.values.erase(series.values.begin(), series.values.begin() + gone);
}

void TickSeries::dropFrom(double tick) {
  const auto keep = at(std::lower_bound(m_ticks.begin(), m_ticks.end(), tick) - m_ticks.begin());
  m_ticks.resize(keep);
  m_edits.erase(std::lower_bound(m_edits.begin(), m_edits.end(), tick), m_edits.end());
  for (Series& series : m_series) series.values.resize(keep, kUnknown);
}

TickSeries TickSeries::within(double first, double last) const {
  TickSeries out = *this;
  out.dropBefore(first);
  out.dropFrom(last + 1);
  return out;
}

void TickSeries::append(const Snapshot& snapshot) {
  const auto tick = static_cast<double>(snapshot.tick.value());
  std::map<QString, double> sampled;  // samples of a tick survive when it is published again
  if (!m_ticks.empty() && m_ticks.back() == tick)
    for (const Series& series : m_series)
      if (series.panel == Panel::Brightness && !series.values.empty()) sampled[series.id] = series.values.back();
  dropFrom(tick);
  m_ticks.push_back(tick);
  for (Series& series : m_series) series.values.push_back(kUnknown);
  for (const auto& [id, value] : sampled) sample(id, snapshot.tick, value);
  if (snapshot.report && snapshot.report->tick == snapshot.tick) takeReport(*snapshot.report);
  takeRows(snapshot);
}

void TickSeries::set(const QString& id, const QString& seriesTitle, Panel panel, double value) {
  know(id, seriesTitle, panel);
  m_series[m_places[id]].values.back() = value;
}

void TickSeries::takeReport(const TickReport& report) {
  std::map<std::string, double> steps, operations;
  for (const Event& event : report.events) (event.depth == 0 ? steps : operations)[event.name] += event.us;
  for (const Event& event : report.events)
    if (event.depth == 1) operations.erase(event.name);  // actions are not operations
  for (const Event& event : report.events) {             // in order of execution
    const QString shown = QString::fromStdString(event.name);
    const auto step = event.depth == 0 ? steps.find(event.name) : steps.end();
    if (step != steps.end()) set(QStringLiteral("us.") + shown, shown, Panel::Latency, step->second);
    const auto operation = event.depth > 1 ? operations.find(event.name) : operations.end();
    if (operation != operations.end()) set(QStringLiteral("op.") + shown, shown, Panel::Operations, operation->second);
  }
  const auto isAdd = [](const Action& action) { return std::holds_alternative<Add>(action); };
  if (!std::ranges::all_of(report.actions, isAdd)) m_edits.push_back(m_ticks.back());
  put("us.total", tickMicroseconds(report));
  put("bytes.tick", static_cast<double>(tickBytes(report)));
  put("count.actions", static_cast<double>(report.actions.size()));
  put("count.violations", static_cast<double>(report.violations.size()));
  if (const Conversions all = together(report.conversions); all.values > 0) takeConversions(all);
}

/// Of all layers; those of one layer are watches, such as scale_max(layer==3).
void TickSeries::takeConversions(const Conversions& all) {
  const auto values = static_cast<double>(all.values);
  const auto scale = [&](const char* id, const char* shown, double value) {
    set(QLatin1String(id), QLatin1String(shown), Panel::Scales, all.scales > 0 ? value : kUnknown);
  };
  scale("scale.min", "smallest scale", all.scaleMin);
  scale("scale.mean", "mean scale", all.scaleMean);
  scale("scale.max", "largest scale", all.scaleMax);
  const auto share = [&](const char* id, const char* shown, std::int64_t part) {
    set(QLatin1String(id), QLatin1String(shown), Panel::Scales, static_cast<double>(part) / values);
  };
  share("share.saturated", "share of values at the limit", all.atMax);
  share("share.nonfinite", "share of values not finite", all.nonFinite);
}

void TickSeries::takeRows(const Snapshot& snapshot) {
  put("rows.length", snapshot.length());
  put("rows.ledger", static_cast<double>(snapshot.ledger.size()));
  put("bytes.live", static_cast<double>(snapshot.bytes.live));
  put("bytes.commit", static_cast<double>(snapshot.bytes.moved));
  double sum = 0, least = kUnknown;
  for (const auto& layer : snapshot.layers) {
    const auto rows = layer ? static_cast<double>(layer->resident()) : 0.0;
    sum += rows;
    least = std::isnan(least) ? rows : std::min(least, rows);
  }
  if (!snapshot.layers.empty()) put("rows.resident.mean", sum / static_cast<double>(snapshot.layers.size()));
  put("rows.resident.min", least);
  const auto stale = [](Exactness e) { return e != Exactness::Exact; };
  if (snapshot.exactness) put("rows.stale", static_cast<double>(std::ranges::count_if(*snapshot.exactness, stale)));
  if (snapshot.kl) put("model.kl", *snapshot.kl);
  if (!snapshot.topk.empty()) put("model.top1", static_cast<double>(snapshot.topk.front().p));
  if (snapshot.watches)
    for (const WatchView& watch : *snapshot.watches) takeWatch(watch);
  put("count.broken", static_cast<double>(std::ranges::count(snapshot.invariants, false, &InvariantState::ok)));
}

void TickSeries::know(const QString& id, const QString& seriesTitle, Panel panel) {
  if (m_places.try_emplace(id, m_series.size()).second)
    m_series.push_back({id, seriesTitle, panel, std::vector<double>(m_ticks.size(), kUnknown)});
}

/// Texts cannot be plotted.
void TickSeries::takeWatch(const WatchView& watch) {
  const QString text = QString::fromStdString(watch.expression);
  double value = kUnknown;
  if (const double* number = std::get_if<double>(&watch.value)) value = *number;
  if (const bool* flag = std::get_if<bool>(&watch.value)) value = *flag ? 1 : 0;
  set(QStringLiteral("watch.") + text, text, Panel::Watched, value);
}

void TickSeries::sample(const QString& id, Tick tick, double value) {
  const auto known = std::lower_bound(m_ticks.begin(), m_ticks.end(), static_cast<double>(tick.value()));
  const auto place = m_places.find(id);
  if (known == m_ticks.end() || *known != static_cast<double>(tick.value()) || place == m_places.end()) return;
  m_series[place->second].values[at(known - m_ticks.begin())] = value;
}

const Series* TickSeries::find(const QString& id) const {
  const auto place = m_places.find(id);
  return place == m_places.end() ? nullptr : &m_series[place->second];
}

int TickSeries::nearest(double tick) const {
  if (m_ticks.empty()) return -1;
  const auto after = std::lower_bound(m_ticks.begin(), m_ticks.end(), tick);
  if (after == m_ticks.begin()) return 0;
  const bool before = after == m_ticks.end() || tick - *(after - 1) <= *after - tick;
  return static_cast<int>(after - m_ticks.begin()) - (before ? 1 : 0);
}

QString TickSeries::csv(const std::vector<QString>& ids) const {
  QString text = QStringLiteral("tick");
  for (const QString& id : ids) text += QLatin1Char(',') + id;
  for (std::size_t i = 0; i < m_ticks.size(); ++i) {
    text += QLatin1Char('\n') + QString::number(m_ticks[i], 'f', 0);
    for (const QString& id : ids) {
      const Series* series = find(id);
      const double value = series ? series->values[i] : kUnknown;
      text += QLatin1Char(',') + (std::isnan(value) ? QString() : QString::number(value, 'g', 9));
    }
  }
  return text + QLatin1Char('\n');
}

}  // namespace kvlab
