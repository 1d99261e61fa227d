// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/table/tree_copy.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QTreeView>
#include <algorithm>

#include "widgets/base/inspector_view.h"

namespace kvlab {
namespace {
QString headerLine(const QAbstractItemModel& model) {
  QStringList cells;
  for (int c = 0; c < model.columnCount(); ++c)
    cells << model.headerData(c, Qt::Horizontal, Qt::DisplayRole).toString();
  return tsvLine(cells);
}

int depthOf(const QModelIndex& index) {
  int depth = 0;
  for (QModelIndex at = index.parent(); at.isValid(); at = at.parent()) ++depth;
  return depth;
}

QString rowLine(const QAbstractItemModel& model, const QModelIndex& first) {
  QStringList cells;
  for (int c = 0; c < model.columnCount(first.parent()); ++c) cells << first.siblingAtColumn(c).data().toString();
  if (!cells.isEmpty()) cells.front().prepend(QString(2 * depthOf(first), QLatin1Char(' ')));
  return tsvLine(cells);
}

void appendRows(const QAbstractItemModel& model, const QModelIndex& parent, QString& text) {
  for (int r = 0; r < model.rowCount(parent); ++r) {
    const QModelIndex index = model.index(r, 0, parent);
    text += rowLine(model, index);
    appendRows(model, index, text);
  }
}

std::vector<int> pathOf(QModelIndex index) {
  std::vector<int> path;
  for (; index.isValid(); index = index.parent()) path.insert(path.begin(), index.row());
  return path;
}

void styleCommon(QAbstractItemView* view) {
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view->setTabKeyNavigation(false);
}
}  // namespace

QString modelTsv(const QAbstractItemModel& model) {
  QString text = headerLine(model);
  appendRows(model, {}, text);
  return text;
}

QString selectionTsv(const QAbstractItemView& view) {
  const QAbstractItemModel& model = *view.model();
  QModelIndexList rows = view.selectionModel()->selectedRows();
  if (rows.isEmpty()) return modelTsv(model);
  std::sort(rows.begin(), rows.end(), [](const QModelIndex& a, const QModelIndex& b) { return pathOf(a) < pathOf(b); });
  QString text = headerLine(model);
  for (const QModelIndex& row : rows) text += rowLine(model, row);
  return text;
}

void addCopy(QAbstractItemView* view) {
  auto* copy = new QAction(QObject::tr("Copy rows"), view);
  QObject::connect(copy, &QAction::triggered, view,
                   [view] { QGuiApplication::clipboard()->setText(selectionTsv(*view)); });
  view->addAction(copy);
  view->setContextMenuPolicy(Qt::ActionsContextMenu);
}

void styleTree(QTreeView* view) {
  styleCommon(view);
  view->setUniformRowHeights(true);
  view->setAlternatingRowColors(true);
  view->setIndentation(16);
  addCopy(view);
}

}  // namespace kvlab
