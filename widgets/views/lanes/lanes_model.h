// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of the lanes, one line each, the reference first. Owned by its view. GUI thread.
#pragma once
#include <QAbstractTableModel>

#include "core/api/lanes_view.h"

namespace kvlab {

class LanesModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Lane, Kl, KlP99, Dnll, Top1, Mass, Overlap, Needles, Rows, Bytes, Time, Weights, kColumns };

  using QAbstractTableModel::QAbstractTableModel;
  void show(LanesViewPtr view);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const LaneView& lane, int row, int column) const;
  QString tip(const LaneView& lane, int column) const;

  LanesViewPtr m_view;
};

/// "left after tick 12: why", or empty.
QString exitText(const LaneView& lane);

}  // namespace kvlab
