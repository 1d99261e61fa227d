// SPDX-License-Identifier: GPL-3.0-or-later
// The likeliest next tokens, best first, with the change since an earlier tick. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <optional>

#include "core/api/snapshot.h"

namespace kvlab {

class ChanceModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Rank, Text, Probability, Change, Id, kColumns };
  enum Role { ShareRole = Qt::UserRole + 50, BeforeRole };  // 0..1; BeforeRole invalid if unknown

  using QAbstractTableModel::QAbstractTableModel;
  void show(std::vector<TokenChance> now, const std::vector<TokenChance>& before);
  const std::vector<TokenChance>& chances() const { return m_now; }
  /// Probability that the shown tokens cover together.
  double covered() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QVariant text(std::size_t row, int column) const;
  std::vector<TokenChance> m_now;
  std::vector<std::optional<float>> m_before;  // [rows of m_now]
  bool m_compared = false;                     // there was something to compare with
};

}  // namespace kvlab
