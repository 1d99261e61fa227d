// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers: figures over the ticks of the history as plots. The list beside the plots chooses series and shows their
// values at the cursor. GUI thread.
#pragma once
#include <QSplitter>
#include <QTimer>

#include "widgets/base/engine_ask.h"
#include "widgets/base/inspector_view.h"
#include "widgets/table/data_table.h"
#include "widgets/views/numbers/number_plot.h"
#include "widgets/views/numbers/series_model.h"

namespace kvlab {

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
