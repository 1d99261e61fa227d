// SPDX-License-Identifier: GPL-3.0-or-later
// Cells of a sweep, one line each. Owned by its view. GUI thread.
#pragma once
#include "core/api/sweep_table.h"
#include "widgets/table/column_model.h"

namespace kvlab {

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

}  // namespace kvlab
