// SPDX-License-Identifier: GPL-3.0-or-later
// A measurement of quantisation, one line per layer. Owned by its view. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <memory>

#include "widgets/views/quant/quant_measure.h"

namespace kvlab {

using QuantMeasurePtr = std::shared_ptr<const QuantMeasure>;

class QuantModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    LayerNumber,
    KeyType,
    ValueType,
    KeyWorst,
    ValueWorst,
    LogitWorst,
    KeyMean,
    ValueMean,
    KeyCosine,
    ValueCosine,
    KeyAtMax,
    ValueAtMax,
    KeyClipped,
    ValueClipped,
    KeyScale,
    ValueScale,
    kColumns
  };

  using QAbstractTableModel::QAbstractTableModel;
  /// Null for none.
  void show(QuantMeasurePtr measure);
  /// By column, as options name them.
  static QStringList names();
  /// The layer with the largest number in a column; -1 where none stands out.
  int worstIn(int column) const { return m_worst[static_cast<std::size_t>(column)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const QuantLayer& layer(int row) const { return m_measure->layers[static_cast<std::size_t>(row)]; }
  QVariant key(int row, int column) const;
  QString text(int row, int column) const;
  QString tip(int row, int column) const;
  double share(int row, int column) const;

  QuantMeasurePtr m_measure;
  std::array<int, kColumns> m_worst{};
};

}  // namespace kvlab
