// SPDX-License-Identifier: GPL-3.0-or-later
// Copies trees as text, and sets their common look; for tables see data_table. GUI thread.
#pragma once
#include <QAbstractItemView>
#include <QString>

class QTreeView;

namespace kvlab {

/// Header line and rows; children are indented by two spaces.
QString modelTsv(const QAbstractItemModel& model);
/// The selected rows of the view, or all rows if none is selected, with a header line.
QString selectionTsv(const QAbstractItemView& view);
/// Ctrl+C copies the selection as TSV.
void addCopy(QAbstractItemView* view);
void styleTree(QTreeView* view);

}  // namespace kvlab
