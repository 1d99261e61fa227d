// SPDX-License-Identifier: GPL-3.0-or-later
// Figures over ticks, gathered from the history of snapshots. Each snapshot is read once; a rewind
// (undo, goto) drops what came after it. GUI thread.
#pragma once
#include <QString>
#include <map>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// Series of one panel share an axis and a unit.
enum class Panel { Latency, Operations, Bytes, Rows, Brightness, Model, Counts };
inline constexpr int kPanels = 7;
QString title(Panel panel);
QString unit(Panel panel);
/// A value with the panel's unit, for people.
QString formatIn(Panel panel, double value);

struct Series {
  QString id, title;
  Panel panel = Panel::Latency;
  std::vector<double> values = {};  // [ticks]; not-a-number = unknown
};

class TickSeries {
 public:
  TickSeries();
  /// True if anything changed: other snapshots, or others of the same ticks.
  bool update(const std::vector<SnapshotPtr>& history);
  /// A figure that does not come with snapshots; kept only for ticks that are in the history.
  void sample(const QString& id, Tick tick, double value);

  void clear();

  const std::vector<double>& ticks() const { return m_ticks; }
  const std::vector<Series>& series() const { return m_series; }
  const Series* find(const QString& id) const;
  /// Place of the tick nearest to `tick`; -1 where there are none.
  int nearest(double tick) const;
  /// "tick,<id>,<id>" and a line per tick.
  QString csv(const std::vector<QString>& ids) const;

 private:
  void append(const Snapshot& snapshot);
  void dropFrom(double tick);
  void set(const QString& id, const QString& title, Panel panel, double value);
  void takeReport(const TickReport& report);
  void takeRows(const Snapshot& snapshot);

  std::vector<double> m_ticks;
  std::vector<Series> m_series;
  std::map<QString, std::size_t> m_places;
  std::size_t m_read = 0;  // snapshots so far
  SnapshotPtr m_newest;    // of those
};

}  // namespace kvlab
