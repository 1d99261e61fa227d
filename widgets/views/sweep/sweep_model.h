// SPDX-License-Identifier: GPL-3.0-or-later
// Cells of a sweep, one line each. Owned by its view. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <QColor>

#include "core/api/sweep_table.h"

namespace kvlab {

class SweepModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    Series,
    Budget,
    Seed,
    Prompts,
    Recall,
    Kl,
    Answer,
    Top1,
    Mass,
    Needles,
    Rows,
    Bytes,
    Problem,
    kColumns
  };

  using ColourOf = QColor (*)(int series, bool dark);
  SweepModel(ColourOf colourOf, QObject* parent) : QAbstractTableModel(parent), m_colourOf(colourOf) {}
  /// `series` are all names in the order of their colours.
  void show(std::vector<SweepRow> rows, std::vector<std::string> series);
  const std::vector<SweepRow>& rows() const { return m_rows; }
  /// First line of the cells that make up a point, -1 = none.
  int rowOf(const SweepPoint& point) const;
  void followTheme();

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const SweepRow& row, int column) const;
  QString tip(const SweepRow& row, int column) const;

  ColourOf m_colourOf;
  std::vector<SweepRow> m_rows;
  std::vector<std::string> m_series;
};

/// True if the cell is one of those that the point sums up.
bool partOf(const SweepRow& row, const SweepPoint& point);
/// "0.25", "128 tokens", "–".
QString budgetText(const std::optional<SweepBudget>& budget);

}  // namespace kvlab
