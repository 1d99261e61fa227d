// SPDX-License-Identifier: GPL-3.0-or-later
// A difference of two states as two tables: a line per layer, and a line per row of one layer. Owned by their view. GUI
// thread.
#pragma once
#include "widgets/table/column_model.h"
#include "widgets/views/difference/difference_found.h"

namespace kvlab {

class DifferentLayers : public LineModel<DifferentLayer> {
  Q_OBJECT
 public:
  explicit DifferentLayers(QObject* parent);
  /// of: the snapshot that names the layers.
  void show(std::vector<DifferentLayer> layers, SnapshotPtr of);

 private:
  void addCount(const char* id, const QString& title, const QString& tip, int gives, int DifferentLayer::*count);
  void addWorst(const char* id, const QString& title, const QString& tip, double DifferentLayer::*worst);

  SnapshotPtr m_of;
};

class DifferentRows : public LineModel<DifferentRow> {
  Q_OBJECT
 public:
  explicit DifferentRows(QObject* parent);
  /// of: the snapshot that has the tokens of the rows.
  void show(std::vector<DifferentRow> rows, SnapshotPtr of);
  /// Line of a row that both states, or the shown one, have; -1 = none.
  int lineOf(LedgerId row) const;

 private:
  void addApart(const char* id, const QString& title, const QString& tip, double DifferentRow::*apart);
  QString tokenOf(const DifferentRow& row) const;

  SnapshotPtr m_of;
};

}  // namespace kvlab
