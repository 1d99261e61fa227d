// SPDX-License-Identifier: GPL-3.0-or-later
// A table that the user sorts by a column: by clicks on titles, a step to the next column, or an option text such as
// "rows" or "-rows". It sorts by the kKeyRole of the model's cells; lines without a key come first; equal lines keep
// their order. The column's title gets an arrow. Owned by its view. GUI thread.
#pragma once
#include "widgets/base/view_options.h"
#include "widgets/table/data_table.h"

class QSortFilterProxyModel;

namespace kvlab {

class SortedTable : public DataTable {
  Q_OBJECT
 public:
  static constexpr QChar kUp{u'↑'}, kDown{u'↓'};

  /// The model's columns have ids; it is sorted by the first column.
  SortedTable(QWidget* parent, QAbstractItemModel* model, const QString& name, const QString& tip);
  /// The row in the model of a line of the table.
  int modelRow(const QModelIndex& line) const;
  /// showRow() for a row of the model.
  void showModelRow(int row);
  /// tsv() without arrows.
  QString plainTsv() const { return tsv().remove(kUp).remove(kDown); }
  /// The view's option "sort".
  ViewOption sortOption();
  /// Sorts by the next visible column, ascending.
  void sortByNext();

 signals:
  void sorted();        // for any reason
  void sortedByUser();  // by a click or a key

 private:
  void apply(int column, Qt::SortOrder order);
  std::string option() const;
  /// Returns the allowed values, or nothing.
  std::string setOption(const nlohmann::json& option);

  QSortFilterProxyModel* m_lines;
  QStringList m_names;  // option name by column
};

}  // namespace kvlab
