// SPDX-License-Identifier: GPL-3.0-or-later
// Sweep: the Pareto plot and the cells of a results file or of a running sweep. Prompt set and filter apply to both.
// GUI thread.
#pragma once
#include "core/api/sweep_table.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/sweep_source.h"
#include "widgets/table/column_model.h"
#include "widgets/table/data_table.h"
#include "widgets/views/sweep/pareto_plot.h"

namespace kvlab {

/// Cells of a sweep, one line each. Owned by its view.
class SweepModel : public LineModel<SweepRow> {
  Q_OBJECT
 public:
  explicit SweepModel(QObject* parent);
  /// series: all names in the order of their colours. True if the columns are others now.
  bool show(std::vector<SweepRow> rows, std::vector<std::string> series);
  const std::vector<SweepRow>& rows() const { return lines(); }
  /// First line of the cells that a point summarises, -1 = none.
  int rowOf(const SweepPoint& point) const;
  void followTheme() { changed(); }

 private:
  Column& addMeasure(const char* id, const QString& title, const QString& width, const char* measure,
                     QString (*text)(const std::optional<double>&), int gives);
  QVariant swatch(const SweepRow& row) const;

  void setExpressions(std::vector<std::string> expressions);

  std::vector<std::string> m_series, m_expressions;
  std::ptrdiff_t m_fixed = 0;  // columns before those of the expressions
};

/// True if the point summarises the cell.
bool partOf(const SweepRow& row, const SweepPoint& point);
/// "0.25", "128 tokens", "–".
QString budgetText(const std::optional<SweepBudget>& budget);

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
