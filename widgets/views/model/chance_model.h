// SPDX-License-Identifier: GPL-3.0-or-later
// The likeliest next tokens, best first, with the change since an earlier tick. GUI thread.
#pragma once
#include <optional>

#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

struct ChanceLine {
  TokenChance chance;
  int rank = 1;
  std::optional<float> before = {};
  bool compared = false;  // there was something to compare with
};

class ChanceModel : public LineModel<ChanceLine> {
  Q_OBJECT
 public:
  enum Role { ShareRole = Qt::UserRole + 50, BeforeRole };  // 0..1; BeforeRole invalid if unknown

  explicit ChanceModel(QObject* parent = nullptr);
  void show(const std::vector<TokenChance>& now, const std::vector<TokenChance>& before);
  /// Probability that the shown tokens cover together.
  double covered() const;
};

}  // namespace kvlab
