// SPDX-License-Identifier: GPL-3.0-or-later
// The most likely next tokens, best first, with the change since an earlier tick, and the painting of their
// probabilities. GUI thread.
#pragma once
#include <optional>

#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

struct ChanceLine {
  TokenChance chance;
  int rank = 1;
  std::optional<float> before = {};
  bool compared = false;  // an earlier tick was compared
};

class ChanceModel : public LineModel<ChanceLine> {
  Q_OBJECT
 public:
  enum Role { ShareRole = Qt::UserRole + 50, BeforeRole };  // 0..1; BeforeRole invalid if unknown

  explicit ChanceModel(QObject* parent = nullptr);
  void show(const std::vector<TokenChance>& now, const std::vector<TokenChance>& before);
  /// Sum of the probabilities of the shown tokens.
  double covered() const;
};

/// The probability column of the next tokens: a bar of the probability, its number, and a mark at the previous tick's
/// probability.
class ChanceDelegate : public DataDelegate {
  Q_OBJECT
 public:
  using DataDelegate::DataDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace kvlab
