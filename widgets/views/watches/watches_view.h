// SPDX-License-Identifier: GPL-3.0-or-later
// Watches: expressions whose values the engine publishes with every tick. Typed below the table, removed with Del; the
// newest snapshot says which there are, whoever set them. GUI thread.
#pragma once
#include <map>

#include "core/api/snapshot.h"
#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/column_model.h"

namespace kvlab {

struct WatchLine {
  WatchView now;
  QString shown;               // the value in the shown tick; empty = it was not watched then
  std::vector<double> course;  // [last ticks, oldest first] numbers, and flags as 0 and 1; NaN = not known
};

QString watchText(const decltype(WatchView::value)& value);

/// Values of watches in ticks in which nobody watched, by the number of the watch.
using WatchPast = std::map<int, std::map<Tick, decltype(WatchView::value)>>;

/// Watches as a table: the expression, its value now and in the shown tick, and its course over the last ticks.
class WatchModel : public LineModel<WatchLine> {
  Q_OBJECT
 public:
  static constexpr std::size_t kTicks = 256;  // the most ticks of a course
  enum Role { CourseRole = Qt::UserRole + 70 };

  explicit WatchModel(QObject* parent);
  void show(const std::vector<SnapshotPtr>& history, const SnapshotPtr& shown, const WatchPast& past = {});
};

/// Paints a course as a line from the left to the right of its cell, the last value as a dot.
class CourseDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

class WatchesView : public InspectorView {
  Q_OBJECT
 public:
  WatchesView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override { return isEmpty() ? QString() : m_table->tsv(); }
  DataTable& table() { return *m_table; }

 protected:
  void onSession() override { m_past.clear(); }
  void onSnapshot() override;

 private:
  void addTyped();
  void fillPast();
  void takePast(const std::vector<WatchView>& asked, const nlohmann::json& reply);
  void removeSelected();
  void breakOnChange();
  const WatchView* selected() const;
  void buttons();

  QLineEdit* m_edit = nullptr;
  QToolButton *m_add = nullptr, *m_remove = nullptr, *m_fill = nullptr;
  WatchModel* m_model;
  DataTable* m_table = nullptr;
  WatchPast m_past;
  EngineAsk m_ask;  // queries ticks
};

}  // namespace kvlab
