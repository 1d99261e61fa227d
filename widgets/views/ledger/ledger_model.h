// SPDX-License-Identifier: GPL-3.0-or-later
// The ledger as an item model, with a filter by text and state. Stores no rows, only the ids that pass the filter, and
// without a filter nothing. Handles a million rows. Owned by LedgerTableView. GUI thread.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"
#include "core/api/tile.h"
#include "widgets/base/finding_marks.h"
#include "widgets/table/column_model.h"

namespace kvlab {

struct LedgerFilter {
  enum class States {
    All,
    InContext,
    Ghosts,
    Replaced,
    Deleted,
    Evicted,
    Collapsed,
    Aborted,
    Pinned,
    Edited,
    Wrong,
    Selected
  };
  QString text;  // part of the token's text, or a ledger id; ignores case
  States states = States::All;
  std::vector<LedgerId> selection = {};  // ascending; for States::Selected
  bool operator==(const LedgerFilter&) const = default;
  bool everything() const { return text.isEmpty() && states == States::All; }
};

/// A row of the ledger and its position.
struct LedgerLine {
  const LedgerRow& row;
  LedgerId id;
  std::int32_t position;  // -1 = not in the context
};

class LedgerModel : public ColumnModel<LedgerLine> {
  Q_OBJECT
 public:
  explicit LedgerModel(QObject* parent);

  void setSnapshot(SnapshotPtr snapshot);
  void setFilter(const LedgerFilter& filter);
  /// Sets the brightness tile of the shown tick, [layers][positions]; null = unknown.
  void setBrightness(std::shared_ptr<const Tile> tile);

  /// Widens number columns to fit the largest number; true if any was too narrow.
  bool fitNumbers();

  LedgerId idOf(int row) const;
  int rowOf(LedgerId id) const;                // -1 = filtered out
  std::int32_t positionOf(LedgerId id) const;  // -1 = not in the context
  std::optional<float> brightnessOf(LedgerId id) const;

 private:
  int count() const override { return m_count; }
  LedgerLine line(int row) const override;
  /// Ids from one on that pass the filter; none without a filter.
  std::vector<std::int32_t> passing(std::size_t from) const;
  void refill();
  bool passes(const LedgerRow& row, std::int32_t id) const;
  bool hasState(const LedgerRow& row, std::int32_t id) const;
  void matchVocabulary();

  SnapshotPtr m_snapshot;
  LedgerFilter m_filter;
  std::vector<std::int32_t> m_position;  // by ledger id; -1 = not in the context
  std::vector<bool> m_tokenMatches;      // [token ids] token text contains the filter text
  std::vector<std::int32_t> m_rows;      // ids that pass the filter; unused without a filter
  int m_count = 0;                       // rows shown
  QString m_widest;                      // a number as wide as the widest that fits
  std::shared_ptr<const Tile> m_brightness;
  FindingMarks m_findings;
};

}  // namespace kvlab
