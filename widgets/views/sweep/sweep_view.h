// SPDX-License-Identifier: GPL-3.0-or-later
// Sweep: the Pareto plot and the cells of a results file or of a running sweep. Prompt set and filter apply to both.
// GUI thread.
#pragma once
#include "widgets/base/inspector_view.h"
#include "widgets/base/sweep_source.h"
#include "widgets/table/data_table.h"
#include "widgets/views/sweep/pareto_plot.h"
#include "widgets/views/sweep/sweep_model.h"

namespace kvlab {

class SweepView : public InspectorView {
  Q_OBJECT
 public:
  SweepView(InspectorContext& context, QWidget* parent);
  QString dump() const override;
  QString tsv() const override;
  ParetoPlot& plot() { return *m_plot; }
  DataTable& table() { return *m_table; }
  /// Writes the plot like kvlab sweep; false if the file cannot be written.
  Status exportSvg(const QString& path) const;

 protected:
  void onSnapshot() override;
  void onFocus() override {}
  void onTheme() override;

 private:
  void makeStrip();
  void makeBody();
  void take();
  void refresh();
  void fillPrompts();
  void readOut(int point);
  bool passes(const SweepPoint& point) const;
  QString state() const;

  SweepSource& m_source;
  SweepModel* m_model;
  DataTable* m_table = nullptr;
  ParetoPlot* m_plot = nullptr;
  QLabel *m_state = nullptr, *m_readout = nullptr;
  QComboBox* m_prompts = nullptr;
  QLineEdit* m_filter = nullptr;
  QToolButton* m_export = nullptr;
  SweepShownPtr m_shown;
  bool m_taken = false;              // m_shown was asked for
  std::vector<SweepPoint> m_points;  // points of all prompt sets
};

}  // namespace kvlab
