// SPDX-License-Identifier: GPL-3.0-or-later
// The lines of the mirror as an item model: position, ledger row, token; then index, slot, tag and phase for each
// chosen layer; then errors. One line per position, and one per cache row outside the context. Owned by MirrorView. GUI
// thread.
#pragma once
#include <QHash>
#include <QStringList>
#include <map>

#include "core/api/snapshot.h"
#include "widgets/table/column_model.h"

namespace kvlab {

/// An error in a row of a layer's map.
struct MirrorFinding {
  std::int32_t index = -1;     // index in the layer's map
  std::int32_t position = -1;  // context position of its ledger row; -1 = not in the context
  QString what;                // "out of order: the row before it stands at position 53"
};

struct MirrorLayer {
  std::vector<std::int32_t> indexOf;    // [positions], index in the map; -1 = not resident
  std::vector<MirrorFinding> findings;  // ascending by index
  const ResidencyView* map = nullptr;   // owned by the snapshot
};

/// Matches the cache with its mirror: checks the map's order, its phases and its slots against the context, and adds
/// the findings of the engine's checks in this layer. A pure function, any thread; cost: a few passes over context and
/// map.
MirrorLayer mirrorOf(const Snapshot& snapshot, CacheLayer layer);

/// One line: a context position, or a cache row outside the context (orphan).
struct MirrorLine {
  std::int32_t position = -1;  // -1: orphan
  std::int32_t layer = -1;     // orphan: index into the model's layers
  std::int32_t index = -1;     // orphan: index in the map
  int number = -1;             // line number without the filter
};

class MirrorModel : public ColumnModel<MirrorLine> {
  Q_OBJECT
 public:
  explicit MirrorModel(QObject* parent = nullptr);
  /// Shows these layers of a snapshot; with `onlyBad` only the lines with findings.
  void set(SnapshotPtr snapshot, std::vector<CacheLayer> layers, bool onlyBad);
  /// Sets the tags that the engine read from a layer's rows: index in the map -> ledger id.
  void setTags(CacheLayer layer, const std::map<std::int32_t, std::uint64_t>& tags);

  /// Context position of a line; -1 for an orphan.
  std::int32_t positionOf(int row) const { return line(row).position; }
  int rowOf(std::int32_t position) const;  // -1 = filtered out
  /// Number of lines with findings, and the next one after `row` (with wrap-around; -1 = none).
  int badCount() const { return static_cast<int>(m_bad.size()); }
  int nextBad(int row) const;
  QString findingsOf(int row) const { return findings(line(row)).join("; "); }
  const std::vector<CacheLayer>& layers() const { return m_layers; }
  /// Map indices of a layer that lines [first, last] show: {begin, end}; {0, 0} if none.
  std::pair<std::int32_t, std::int32_t> indices(std::size_t layer, int first, int last) const;

 private:
  using Line = MirrorLine;
  int count() const override;
  Line line(int row) const override;
  void makeColumns();
  void addLayer(std::size_t layer);
  Column& addOfLayer(const char* id, const QString& title, const QString& tip, int gives, std::size_t layer,
                     std::function<QString(std::size_t index, const ResidencyView&)> text, const QString& none = {});
  std::int32_t indexAt(const Line& line, std::size_t layer) const;
  /// False if the layer has no row, or counts a row that left through its window.
  bool hasRow(const Line& line, std::size_t layer) const;
  LedgerId idOf(const Line& line) const;
  QStringList findings(const Line& line) const { return m_found.value(line.number); }
  void findBad();
  void checkTag(MirrorLayer& mirror, std::int32_t index, std::uint64_t tag) const;

  SnapshotPtr m_snapshot;
  std::vector<CacheLayer> m_layers;
  std::vector<MirrorLayer> m_mirrors;                         // parallel to m_layers
  std::vector<std::map<std::int32_t, std::uint64_t>> m_tags;  // parallel to m_layers: index -> tag
  std::vector<Line> m_orphans;                                // lines after the positions
  QHash<int, QStringList> m_found;                            // by line without the filter
  QHash<int, quint64> m_badLayers;                            // by line without the filter: one bit per layer
  std::vector<int> m_bad;                                     // keys of m_found, ascending
  bool m_onlyBad = false;
};

}  // namespace kvlab
