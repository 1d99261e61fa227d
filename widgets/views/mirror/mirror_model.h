// SPDX-License-Identifier: GPL-3.0-or-later
// The lines of the mirror as an item model: position, ledger row, token; then index, slot, tag and
// phase for each chosen layer; then what is wrong. One line per position, and one for every cache
// row that belongs to no position. Owned by MirrorView. GUI thread.
#pragma once
#include <QAbstractTableModel>
#include <QHash>
#include <QStringList>
#include <map>

#include "widgets/views/mirror/mirror_lines.h"

namespace kvlab {

class MirrorModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kPosition, kLedger, kToken, kLayers };
  enum LayerColumn { kIndex, kSlot, kTag, kPhase, kPerLayer };
  using QAbstractTableModel::QAbstractTableModel;

  /// Shows these layers of a snapshot; with `onlyBad`, only the lines with findings.
  void set(SnapshotPtr snapshot, std::vector<Layer> layers, bool onlyBad);
  /// Tags of a layer's rows as the engine read them: index in the map -> ledger id.
  void setTags(Layer layer, const std::map<std::int32_t, std::int64_t>& tags);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  /// Context position of a line; -1 for a cache row that belongs to none.
  std::int32_t positionOf(int row) const;
  int rowOf(std::int32_t position) const;  // -1 if the line is filtered out
  /// Number of lines with findings, and the one after `row` (wrapping; -1 = none).
  int badCount() const { return static_cast<int>(m_bad.size()); }
  int nextBad(int row) const;
  QString findingsOf(int row) const;
  const std::vector<Layer>& layers() const { return m_layers; }
  /// Indices of a layer that lines [first, last] show: {begin, end}; {0, 0} if none.
  std::pair<std::int32_t, std::int32_t> indices(std::size_t layer, int first, int last) const;

 private:
  struct Line {
    std::int32_t position = -1;  // -1: orphan
    std::int32_t layer = -1;     // of an orphan: place in m_layers
    std::int32_t index = -1;     // of an orphan
    int number = -1;             // without the filter
  };
  Line line(int row) const;
  std::int32_t indexAt(const Line& line, std::size_t layer) const;
  /// False where the layer has no row, or only counts one that left through its window.
  bool hasRow(const Line& line, std::size_t layer) const;
  QString columnTip(int section) const;
  QString text(const Line& line, int column) const;
  QString layerText(const Line& line, std::size_t layer, int what) const;
  QStringList findings(const Line& line) const { return m_found.value(line.number); }
  void findBad();
  void checkTag(MirrorLayer& mirror, std::int32_t index, std::int64_t tag) const;
  int findingColumn() const { return kLayers + static_cast<int>(m_layers.size()) * kPerLayer; }

  SnapshotPtr m_snapshot;
  std::vector<Layer> m_layers;
  std::vector<MirrorLayer> m_mirrors;                        // beside m_layers
  std::vector<std::map<std::int32_t, std::int64_t>> m_tags;  // beside m_layers: index -> tag
  std::vector<Line> m_orphans;                               // lines after the positions
  QHash<int, QStringList> m_found;                           // by unfiltered line
  QHash<int, quint64> m_badLayers;                           // by unfiltered line: bit of each layer
  std::vector<int> m_bad;                                    // its keys, ascending
  bool m_onlyBad = false;
};

}  // namespace kvlab
