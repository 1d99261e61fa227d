// SPDX-License-Identifier: GPL-3.0-or-later
// The competition of one tick, one line per row that left a window: who challenged, who left the layer for
// it, and by how much. Owned by its view. GUI thread.
#pragma once
#include "widgets/table/column_model.h"
#include "widgets/views/smartkv/band_rows.h"

namespace kvlab {

struct ContestLine {
  CacheLayer layer;
  Contest contest;
  float margin = 0;  // of the challenger over the lowest score it met; not-a-number where that is not known
  bool won() const { return contest.challenger != contest.loser; }
};

class ContestModel : public LineModel<ContestLine> {
  Q_OBJECT
 public:
  explicit ContestModel(QObject* parent = nullptr);
  void show(SnapshotPtr snapshot, const std::vector<BandRows>& layers);
  int rowOf(CacheLayer layer) const;  // the first of a layer, -1 = none
  int won() const;

 private:
  SnapshotPtr m_snapshot;
};

}  // namespace kvlab
