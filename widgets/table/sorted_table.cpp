// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/sorted_table.h"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <algorithm>

namespace kvlab {
namespace {
class SortedModel : public QSortFilterProxyModel {
 public:
  SortedModel(QAbstractItemModel* source, QObject* parent) : QSortFilterProxyModel(parent) {
    setSortRole(kKeyRole);
    setSourceModel(source);
  }

  QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
    const QVariant own = QSortFilterProxyModel::headerData(section, orientation, role);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section != sortColumn()) return own;
    return QString(own.toString() + (sortOrder() == Qt::AscendingOrder ? SortedTable::kUp : SortedTable::kDown));
  }

  void sort(int column, Qt::SortOrder order) override {
    QSortFilterProxyModel::sort(column, order);
    emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
  }
};
}  // namespace

SortedTable::SortedTable(QWidget* parent, QAbstractItemModel* model, const QString& name, const QString& tip)
    : DataTable(parent, new SortedModel(model, model->parent()), name, tip),
      m_lines(static_cast<QSortFilterProxyModel*>(this->model())) {
  for (int column = 0; column < m_lines->columnCount(); ++column)
    m_names << m_lines->headerData(column, Qt::Horizontal, kIdRole).toString();
  QHeaderView* header = horizontalHeader();
  header->setSortIndicator(0, Qt::AscendingOrder);
  setSortingEnabled(true);
  header->setSortIndicatorShown(false);  // Qt's indicator would cover the title; the model adds an arrow
  connect(header, &QHeaderView::sectionClicked, this, [this] {
    emit sorted();
    emit sortedByUser();
  });
}

int SortedTable::modelRow(const QModelIndex& line) const { return m_lines->mapToSource(line).row(); }

void SortedTable::showModelRow(int row) {
  showRow(m_lines->mapFromSource(m_lines->sourceModel()->index(row, 0)).row());
}

void SortedTable::apply(int column, Qt::SortOrder order) {
  sortByColumn(column, order);
  emit sorted();
}

ViewOption SortedTable::sortOption() {
  return {"sort", [this] { return option(); }, [this](const nlohmann::json& value) { return setOption(value); }};
}

std::string SortedTable::option() const {
  const QHeaderView* header = horizontalHeader();
  const qsizetype by = std::clamp<qsizetype>(header->sortIndicatorSection(), 0, m_names.size() - 1);
  return (header->sortIndicatorOrder() == Qt::DescendingOrder ? QLatin1Char('-') + m_names[by] : m_names[by])
      .toStdString();
}

std::string SortedTable::setOption(const nlohmann::json& option) {
  const QString given = option.is_string() ? QString::fromStdString(option.get<std::string>()) : QString();
  const bool down = given.startsWith('-');
  if (const qsizetype column = m_names.indexOf(given.mid(down ? 1 : 0)); column >= 0)
    return apply(static_cast<int>(column), down ? Qt::DescendingOrder : Qt::AscendingOrder), std::string();
  const QString others = m_names.mid(0, m_names.size() - 1).join(QStringLiteral(", "));
  return QStringLiteral("use %1 or %2; -%2 reverses the order").arg(others, m_names.last()).toStdString();
}

void SortedTable::sortByNext() {
  int by = horizontalHeader()->sortIndicatorSection();
  do by = (by + 1) % static_cast<int>(m_names.size());
  while (isColumnHidden(by));
  apply(by, Qt::AscendingOrder);
  emit sortedByUser();
}

}  // namespace kvlab
