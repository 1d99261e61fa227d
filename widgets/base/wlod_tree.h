// SPDX-License-Identifier: GPL-3.0-or-later
// A wLOD snapshot by node: entries, the effect of the last edit on each row, legal expansions and collapses, and
// reasons why others are refused. A value made for one snapshot; no painting. Any thread.
#pragma once
#include <QString>
#include <cmath>
#include <optional>
#include <vector>

#include "core/api/snapshot.h"
#include "core/api/wlod_view.h"
#include "widgets/base/finding_marks.h"

namespace kvlab {

/// Relation of a node to the working context.
enum class NodePlace : std::uint8_t { Entry, Above, Below, Incomplete };

/// One row of the session, as the icicle draws it.
struct TreeRow {
  TreeNode node;
  std::int32_t position = -1;      // position of the entry; -1 = a summary
  DirtyWhy why = DirtyWhy::Clean;  // effect of the last edit
  bool layer0 = false;             // dirty, but layer 0 stayed valid; false if all rows were computed
};

/// An edit that the user may request, and the reason why it is refused (empty = legal).
struct TreeEdit {
  bool expand = true;
  TreeNode node{-1, 0};
  QString why;
};

class WlodTree {
 public:
  /// The snapshot must have a wLOD.
  explicit WlodTree(SnapshotPtr snapshot);

  const Snapshot& snapshot() const { return *m_snapshot; }
  const WlodView& view() const { return *m_snapshot->wlod; }
  const FindingMarks& findings() const { return m_findings; }
  std::int32_t moments() const { return view().moments; }
  std::int32_t entries() const { return static_cast<std::int32_t>(view().entries.size()); }
  /// Number of complete nodes of a level.
  std::int32_t nodes(int level) const { return moments() / spanOf(level); }
  /// Entries and summaries of a level in time order.
  const std::vector<TreeRow>& rows(int level) const { return m_rows[at(level)]; }
  std::int32_t entriesOf(int level) const { return m_entriesOf[at(level)]; }
  std::int32_t summaries() const { return m_summaries; }

  TreeNode entry(std::int32_t position) const { return view().entries[at(position)]; }
  /// Position of the entry that covers a moment; -1 outside the time line.
  std::int32_t entryAt(std::int32_t moment) const;
  bool has(TreeNode node) const { return node.aligned() && node.end() <= moments(); }
  /// The complete node of a level at a moment.
  std::optional<TreeNode> nodeAt(int level, std::int32_t moment) const;
  NodePlace place(TreeNode node) const;
  std::int32_t positionOf(TreeNode node) const;  // -1 = no entry
  const TreeRow* rowOf(TreeNode node) const;     // null = neither entry nor summary

  float score(std::int32_t position) const { return valueAt(view().scores, position, NAN); }  // NaN = none
  float mass(std::int32_t position) const { return valueAt(view().mass, position, NAN); }
  std::int32_t cooling(std::int32_t position) const { return valueAt(view().cooling, position, 0); }
  float mostMass() const { return m_mostMass; }
  bool anyCooling() const { return m_anyCooling; }

  /// The expansion for a node: of the entry at the node or above it.
  TreeEdit expansion(TreeNode at) const;
  /// Whether the children of a gist fit into the budget; the engine names the blocks to collapse first where not.
  bool roomToExpand() const;
  /// The collapse for a node: into the node itself if its entries are finer, else into the entry's parent.
  TreeEdit collapse(TreeNode at) const;
  /// The edit that moves the entries towards a node, for a double click.
  TreeEdit towards(TreeNode node) const;

  /// Text covered by a node, cut off after `most` characters.
  QString text(TreeNode node, int most) const;
  /// All facts of a node in words.
  QStringList facts(TreeNode node) const;
  /// Runs of equal entries: "LOD1 [1024, 1536)   16 entries, clean".
  QStringList runs() const;

 private:
  template <class T>
  static T valueAt(const std::vector<T>& values, std::int32_t position, T none) {
    return position >= 0 && at(position) < values.size() ? values[at(position)] : none;
  }
  void place(const WlodRow& row, std::int32_t position, DirtyWhy why, bool layer0);
  QString whyNotCollapse(TreeNode node) const;

  SnapshotPtr m_snapshot;
  FindingMarks m_findings;
  std::vector<TreeRow> m_rows[kTopLevel + 1];
  std::int32_t m_entriesOf[kTopLevel + 1] = {};
  std::int32_t m_summaries = 0;
  float m_mostMass = 0;
  bool m_anyCooling = false;
};

/// "temporal", "temporal, layer 0 kept".
QString whyText(DirtyWhy why, bool layer0);
/// "tokens", "LOD1".
QString levelText(int level);

}  // namespace kvlab
