// SPDX-License-Identifier: GPL-3.0-or-later
// How a person orders a table by a column: clicks on titles, a step to the next column, or the text of an
// option, "rows" or "-rows". The model marks the column's title. Owned by its view. GUI thread.
#pragma once
#include <QObject>
#include <QStringList>

#include "widgets/base/view_options.h"
#include "widgets/table/data_table.h"

namespace kvlab {

class ColumnOrder : public QObject {
  Q_OBJECT
 public:
  /// The table has its model, whose columns have ids; it is ordered by the first one.
  explicit ColumnOrder(DataTable* table);
  /// "sort", for the view.
  ViewOption viewOption();
  /// By the next column that is in sight, ascending.
  void next();

 signals:
  void changed();  // however it came about
  void chosen();   // by hand

 private:
  void apply(int column, Qt::SortOrder order);
  std::string option() const;
  bool set(const nlohmann::json& option);
  std::string remedy() const;

  DataTable& m_table;
  QStringList m_names;  // by column, as the option has them
};

}  // namespace kvlab
