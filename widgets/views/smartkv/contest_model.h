// SPDX-License-Identifier: GPL-3.0-or-later
// The competition of one tick, one line per row that left a window: the challenger, the row that was evicted instead,
// and the score difference. Owned by its view. GUI thread.
#pragma once
#include "widgets/table/column_model.h"
#include "widgets/views/smartkv/band_rows.h"

namespace kvlab {

struct ContestLine {
  CacheLayer layer;
  Contest contest;
  float margin = 0;  // score difference of the challenger to its lowest opponent; NaN = unknown
  bool won() const { return contest.challenger != contest.loser; }
};

class ContestModel : public LineModel<ContestLine> {
  Q_OBJECT
 public:
  explicit ContestModel(QObject* parent = nullptr);
  void show(SnapshotPtr snapshot, const std::vector<BandRows>& layers);
  int rowOf(CacheLayer layer) const;  // first line of a layer, -1 = none
  int won() const;

 private:
  SnapshotPtr m_snapshot;
};

}  // namespace kvlab
