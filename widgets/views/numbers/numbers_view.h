// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers: figures over the ticks of the history as plots. The list beside the plots chooses series and shows their
// values at the cursor. GUI thread.
#pragma once
#include <QSplitter>
#include <QTimer>
#include <set>

#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/column_model.h"
#include "widgets/table/data_table.h"
#include "widgets/views/numbers/number_plot.h"
#include "widgets/views/numbers/tick_series.h"

namespace kvlab {

/// The list of series: a heading per panel, below it the series with a check mark and their value at the cursor.
struct SeriesLine {
  QString id, title, value;  // empty id: a heading
  int pen = 0;               // index in its panel
};

class SeriesModel : public LineModel<SeriesLine> {
  Q_OBJECT
 public:
  enum Role { IdRole = Qt::UserRole + 50, HeadingRole, OnRole, PenRole };

  explicit SeriesModel(QObject* parent);
  /// Takes the series and their values at `cursor` (an index into ticks(); -1 = none).
  void show(const TickSeries& series, int cursor);
  /// Ids of the checked series in the order of the list.
  std::vector<QString> chosen() const;
  void setOn(const QString& id, bool on);

  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

 signals:
  void chosenChanged();

 private:
  bool on(const SeriesLine& line) const;

  std::set<QString> m_on;
};

/// A line of the list: a panel heading, or a series with a check box, a sample of its line and its value at the cursor.
class SeriesDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override;
};

class NumbersView : public InspectorView {
  Q_OBJECT
 public:
  NumbersView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  /// The shown series as CSV.
  QString csv() const;
  QString tsv() const override;
  bool ready() const override { return InspectorView::ready() && !m_late; }
  SeriesModel& series() { return *m_model; }

 protected:
  void onSession() override { m_series.clear(); }
  void onSnapshot() override;
  void onTheme() override;

 private:
  void makeStrip();
  void makeBody();
  void askBrightness();
  void refresh();
  void refreshSoon();
  void showValues();
  QString emptyHow() const;
  /// The series within the limits of the ticks.
  const TickSeries& plotted() const { return m_limited ? *m_limited : m_series; }

  TickSeries m_series;
  std::optional<TickSeries> m_limited;  // empty while there are no limits
  SeriesModel* m_model;
  DataTable* m_list = nullptr;
  NumberPlot* m_plot = nullptr;
  QSplitter* m_content = nullptr;
  QToolButton *m_stacked = nullptr, *m_clip = nullptr, *m_log = nullptr, *m_reset = nullptr, *m_copy = nullptr;
  QLabel* m_at = nullptr;
  bool m_late = false;
  EngineAsk m_ask;  // queries brightness
  QTimer m_pace;    // limits redraws while new data arrives
};

}  // namespace kvlab
