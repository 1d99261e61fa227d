// SPDX-License-Identifier: GPL-3.0-or-later
// Figures over the ticks of the history. Each snapshot is read once while the history grows at its end and forgets its
// oldest ticks; after undo or goto all are read again. GUI thread.
#pragma once
#include <QString>
#include <map>
#include <vector>

#include "core/api/snapshot.h"
#include "widgets/base/history_reader.h"

namespace kvlab {

/// Series of one panel share an axis and a unit.
enum class Panel { Latency, Operations, Bytes, Rows, Brightness, Model, Scales, Counts, Watched };
inline constexpr int kPanels = 9;
QString title(Panel panel);
QString unit(Panel panel);
/// A readable value with the panel's unit.
QString formatIn(Panel panel, double value);

struct Series {
  QString id, title;
  Panel panel = Panel::Latency;
  std::vector<double> values = {};  // [ticks]; NaN = unknown
};

class TickSeries {
 public:
  TickSeries();
  /// True if snapshots changed, also if a tick was published again.
  bool update(HistoryReader::History history);
  /// Makes a series unless it is there.
  void know(const QString& id, const QString& title, Panel panel);
  /// Adds a figure that snapshots do not have to a known series; kept only for ticks of the history.
  void sample(const QString& id, Tick tick, double value);

  void clear();

  const std::vector<double>& ticks() const { return m_ticks; }
  const std::vector<Series>& series() const { return m_series; }
  /// Ticks whose actions did more than add tokens at the end.
  const std::vector<double>& edits() const { return m_edits; }
  const Series* find(const QString& id) const;
  /// Index of the tick nearest to `tick`; -1 if there are no ticks.
  int nearest(double tick) const;
  /// A copy with the ticks from the first to the last.
  TickSeries within(double first, double last) const;
  /// CSV: a header "tick,<id>,<id>" and a line per tick.
  QString csv(const std::vector<QString>& ids) const;

 private:
  void forget();
  void append(const Snapshot& snapshot);
  void dropFrom(double tick);
  void dropBefore(double tick);
  void set(const QString& id, const QString& title, Panel panel, double value);
  /// Sets a figure that every snapshot has.
  void put(const char* id, double value) { m_series[m_places[QLatin1String(id)]].values.back() = value; }
  void takeReport(const TickReport& report);
  void takeConversions(const Conversions& all);
  void takeRows(const Snapshot& snapshot);
  void takeWatch(const WatchView& watch);

  std::vector<double> m_ticks, m_edits;
  std::vector<Series> m_series;
  std::map<QString, std::size_t> m_places;
  HistoryReader m_reader;
};

}  // namespace kvlab
