// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/column_order.h"

#include <QHeaderView>
#include <algorithm>

namespace kvlab {

ColumnOrder::ColumnOrder(DataTable* table) : QObject(table), m_table(*table) {
  for (int column = 0; column < table->model()->columnCount(); ++column)
    m_names << table->model()->headerData(column, Qt::Horizontal, kIdRole).toString();
  QHeaderView* header = table->horizontalHeader();
  header->setSortIndicator(0, Qt::AscendingOrder);
  table->setSortingEnabled(true);
  header->setSortIndicatorShown(false);  // Qt's indicator would cover the title; the model adds an arrow
  connect(header, &QHeaderView::sectionClicked, this, [this] {
    emit changed();
    emit chosen();
  });
}

void ColumnOrder::apply(int column, Qt::SortOrder order) {
  m_table.sortByColumn(column, order);
  emit changed();
}

ViewOption ColumnOrder::viewOption() {
  return {"sort", [this] { return option(); }, [this](const nlohmann::json& value) { return set(value); }};
}

std::string ColumnOrder::option() const {
  const QHeaderView* header = m_table.horizontalHeader();
  const qsizetype by = std::clamp<qsizetype>(header->sortIndicatorSection(), 0, m_names.size() - 1);
  return (header->sortIndicatorOrder() == Qt::DescendingOrder ? QLatin1Char('-') + m_names[by] : m_names[by])
      .toStdString();
}

std::string ColumnOrder::set(const nlohmann::json& option) {
  const QString given = option.is_string() ? QString::fromStdString(option.get<std::string>()) : QString();
  const bool down = given.startsWith('-');
  if (const qsizetype column = m_names.indexOf(given.mid(down ? 1 : 0)); column >= 0)
    return apply(static_cast<int>(column), down ? Qt::DescendingOrder : Qt::AscendingOrder), std::string();
  const QString others = m_names.mid(0, m_names.size() - 1).join(QStringLiteral(", "));
  return QStringLiteral("use %1 or %2; -%2 reverses the order").arg(others, m_names.last()).toStdString();
}

void ColumnOrder::next() {
  int by = m_table.horizontalHeader()->sortIndicatorSection();
  do by = (by + 1) % static_cast<int>(m_names.size());
  while (m_table.isColumnHidden(by));
  apply(by, Qt::AscendingOrder);
  emit chosen();
}

}  // namespace kvlab
