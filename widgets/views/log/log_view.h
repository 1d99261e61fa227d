// SPDX-License-Identifier: GPL-3.0-or-later
// Log: the newest lines of the program's log, filtered by level and text. Also collects lines while it is hidden. GUI
// thread.
#pragma once
#include <QDateTime>
#include <QSortFilterProxyModel>
#include <functional>

#include "widgets/base/inspector_view.h"
#include "widgets/table/column_model.h"
#include "widgets/table/data_table.h"

namespace kvlab {

/// Levels are spdlog's: 0 trace, 1 debug, 2 info, 3 warning, 4 error, 5 critical.
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

class LogView : public InspectorView {
  Q_OBJECT
 public:
  LogView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return m_filter->rowCount() ? m_table->tsv() : QString(); }
  /// Sets the clock for times of new lines, for tests.
  void setClock(std::function<QDateTime()> clock) { m_clock = std::move(clock); }
  void append(int level, const QString& text);

 private:
  void makeStrip();
  void makeTable();
  void refresh();
  void clear();

  LogModel* m_model;
  LogFilter* m_filter;
  DataTable* m_table = nullptr;
  QToolButton *m_follow = nullptr, *m_clear = nullptr;
  QLabel* m_count = nullptr;
  std::function<QDateTime()> m_clock;
};

}  // namespace kvlab
