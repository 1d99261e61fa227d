// SPDX-License-Identifier: GPL-3.0-or-later
// How a person orders a table by a column: clicks on titles, a step to the next column, or the text of an
// option, "rows" or "-rows". The model marks the column's title. Owned by its view. GUI thread.
#pragma once
#include <QObject>
#include <QStringList>
#include <nlohmann/json.hpp>

#include "widgets/table/data_table.h"

namespace kvlab {

class ColumnOrder : public QObject {
  Q_OBJECT
 public:
  /// The table has its model, whose columns have ids; it is ordered by the first one.
  explicit ColumnOrder(DataTable* table);
  nlohmann::json option() const;
  /// False if it names no column.
  bool set(const nlohmann::json& option);
  /// What set() takes, for its error.
  std::string remedy() const;
  /// By the next column that is in sight, ascending.
  void next();

 signals:
  void changed();  // however it came about
  void chosen();   // by hand

 private:
  void apply(int column, Qt::SortOrder order);

  DataTable& m_table;
  QStringList m_names;  // by column, as the option has them
};

}  // namespace kvlab
