// SPDX-License-Identifier: GPL-3.0-or-later
// The newest lines of the log, up to a limit. Levels are spdlog's: 0 trace, 1 debug, 2 info, 3 warning, 4 error, 5
// critical. GUI thread.
#pragma once
#include <QDateTime>
#include <QSortFilterProxyModel>

#include "widgets/table/column_model.h"

namespace kvlab {

struct LogLine {
  QDateTime time;
  int level = 2;
  QString text;
};
inline constexpr int kLogLevels = 6;
QString logLevelName(int level);

class LogModel : public LineModel<LogLine> {
  Q_OBJECT
 public:
  static constexpr int kLimit = 10000;  // lines kept; at the limit the oldest tenth is dropped

  explicit LogModel(QObject* parent = nullptr);
  void append(LogLine line);
  void clear();
  using LineModel::line;
  qint64 dropped() const { return m_dropped; }

 private:
  qint64 m_dropped = 0;
};

/// Lines from a level on that contain a text, ignoring case.
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
