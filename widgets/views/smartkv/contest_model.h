// SPDX-License-Identifier: GPL-3.0-or-later
// The competition of one tick, one line per row that left a window: who challenged, who left the layer for
// it, and by how much. Owned by its view. GUI thread.
#pragma once
#include <QAbstractTableModel>

#include "widgets/views/smartkv/band_rows.h"

namespace kvlab {

struct ContestLine {
  std::int32_t layer = 0;
  Contest contest;
  float margin = 0;  // of the challenger over the lowest score it met; not-a-number where that is not known
  bool won() const { return contest.challenger != contest.loser; }
};

class ContestModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { LayerNumber, Challenger, ItsScore, Outcome, Leaves, LoserScore, Margin, kColumns };

  using QAbstractTableModel::QAbstractTableModel;
  void show(SnapshotPtr snapshot, const std::vector<BandRows>& layers);
  const std::vector<ContestLine>& lines() const { return m_lines; }
  int rowOf(Layer layer) const;  // the first of a layer, -1 = none
  int won() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const ContestLine& line, int column) const;

  SnapshotPtr m_snapshot;
  std::vector<ContestLine> m_lines;
};

}  // namespace kvlab
