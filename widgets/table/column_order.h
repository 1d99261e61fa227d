// SPDX-License-Identifier: GPL-3.0-or-later
// Lets the user sort a table by a column: by clicks on titles, a step to the next column, or an option text such as
// "rows" or "-rows". The model marks the column's title. Owned by its view. GUI thread.
#pragma once
#include <QObject>
#include <QStringList>

#include "widgets/base/view_options.h"
#include "widgets/table/data_table.h"

namespace kvlab {

class ColumnOrder : public QObject {
  Q_OBJECT
 public:
  /// The table must have its model, whose columns have ids; it is sorted by the first column.
  explicit ColumnOrder(DataTable* table);
  /// The view's option "sort".
  ViewOption viewOption();
  /// Sorts by the next visible column, ascending.
  void next();

 signals:
  void changed();  // for any reason
  void chosen();   // by the user

 private:
  void apply(int column, Qt::SortOrder order);
  std::string option() const;
  /// Returns the allowed values, or nothing.
  std::string set(const nlohmann::json& option);

  DataTable& m_table;
  QStringList m_names;  // option name by column
};

}  // namespace kvlab
