// SPDX-License-Identifier: GPL-3.0-or-later
// Log: the newest lines of the program's log, filtered by level and text. Also collects lines while it is hidden. GUI
// thread.
#pragma once
#include <functional>

#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/log/log_model.h"

namespace kvlab {

class LogView : public InspectorView {
  Q_OBJECT
 public:
  LogView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return m_filter->rowCount() ? m_table->tsv() : QString(); }
  /// Sets the clock for times of new lines, for tests.
  void setClock(std::function<QDateTime()> clock) { m_clock = std::move(clock); }
  void append(int level, const QString& text);

 protected:
  void onSnapshot() override {}
  void onFocus() override {}

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
