// SPDX-License-Identifier: GPL-3.0-or-later
// The ledger as an item model, with a filter by text and by state. Holds no copy of a row: only the
// ids that pass the filter, and nothing at all while no filter is set. A million rows. Owned by
// LedgerTableView. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <memory>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"
#include "core/api/tile.h"

namespace kvlab {

struct LedgerFilter {
  enum class States { All, InContext, Ghosts, Replaced, Deleted, Evicted, Collapsed, Aborted, Pinned, Edited };
  QString text;  // in the token's text or, if it is a number, the ledger id; letter case is ignored
  States states = States::All;
  bool operator==(const LedgerFilter&) const = default;
  bool everything() const { return text.isEmpty() && states == States::All; }
};

class LedgerModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kId, kPosition, kToken, kState, kBrightness, kSource, kBorn, kChanged, kParents, kChildren, kColumns };
  using QAbstractTableModel::QAbstractTableModel;

  void setSnapshot(SnapshotPtr snapshot);
  void setFilter(const LedgerFilter& filter);
  /// Brightness tile of the shown tick, [layers][positions]; null = not known.
  void setBrightness(std::shared_ptr<const Tile> tile);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : kColumns; }
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  LedgerId idOf(int row) const;
  int rowOf(LedgerId id) const;                // -1 = filtered out
  std::int32_t positionOf(LedgerId id) const;  // -1 = not in the context
  std::optional<float> brightnessOf(LedgerId id) const;

 private:
  std::vector<std::int32_t> passing(std::size_t from) const;
  bool passes(const LedgerRow& row, std::int32_t id) const;
  bool hasState(const LedgerRow& row, std::int32_t id) const;
  void matchVocabulary();
  QString text(const LedgerRow& row, LedgerId id, int column) const;

  SnapshotPtr m_snapshot;
  LedgerFilter m_filter;
  std::vector<std::int32_t> m_position;  // by ledger id; -1 = not in the context
  std::vector<bool> m_tokenMatches;      // by token id, for the text of the filter
  std::vector<std::int32_t> m_rows;      // ids that pass; unused while everything passes
  int m_count = 0;                       // rows shown
  std::shared_ptr<const Tile> m_brightness;
};

}  // namespace kvlab
