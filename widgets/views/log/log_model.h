// SPDX-License-Identifier: GPL-3.0-or-later
// The newest lines of the log, bounded. Levels are spdlog's: 0 trace, 1 debug, 2 info, 3 warning,
// 4 error, 5 critical. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <QDateTime>
#include <QSortFilterProxyModel>
#include <deque>

namespace kvlab {

struct LogLine {
  QDateTime time;
  int level = 2;
  QString text;
};
inline constexpr int kLogLevels = 6;
QString logLevelName(int level);

class LogModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Time, Level, Text, kColumns };
  enum Role { LevelRole = Qt::UserRole + 50 };
  static constexpr int kLimit = 10000;  // lines kept; the oldest tenth goes when it is reached

  using QAbstractTableModel::QAbstractTableModel;
  void append(LogLine line);
  void clear();
  const LogLine& line(int row) const { return m_lines[static_cast<std::size_t>(row)]; }
  qint64 dropped() const { return m_dropped; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::deque<LogLine> m_lines;
  qint64 m_dropped = 0;
};

/// Lines at or above a level that contain a text, letter case ignored.
class LogFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  void setLeast(int level);
  void setNeedle(const QString& text);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  int m_least = 0;
  QString m_needle;
};

}  // namespace kvlab
