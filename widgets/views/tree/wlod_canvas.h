// SPDX-License-Identifier: GPL-3.0-or-later
// The wLOD tree as an icicle diagram over the time line: LOD2 above LOD1 above tokens. Every complete node is a faint
// box at its level; entries of the working context, one over each moment, are filled. If boxes share a pixel, the most
// important mark is shown. Owned by WlodTreeView. GUI thread. Device-independent pixels.
#pragma once
#include <memory>
#include <optional>

#include "widgets/base/wlod_tree.h"
#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/tile_cache.h"

namespace kvlab {

enum class TreeColour : std::uint8_t { Change, Score, Mass, Level, Map };  // Map: the quantity that colours the map

class WlodCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  WlodCanvas(InspectorContext& context, QWidget* parent);

  void show(std::shared_ptr<const WlodTree> tree);
  void setColour(TreeColour colour);
  TreeColour colour() const { return m_colour; }
  /// The values of TreeColour::Map.
  void setValues(TileRows values);
  /// Sets the selected node and the node of the selected decision.
  void select(std::optional<TreeNode> node);
  void mark(std::optional<TreeNode> node);
  std::optional<TreeNode> selected() const { return m_selected; }
  std::optional<TreeNode> marked() const { return m_marked; }
  /// Scrolls until a node is visible.
  void reveal(TreeNode node);

  QString readout() const override;
  /// Area of a node's box; for tests.
  QRectF boxOf(TreeNode node) const;

 signals:
  void clicked(kvlab::TreeNode node);
  void activated(kvlab::TreeNode node);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  /// The line is the level, the item the node's first moment.
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override;
  void choose(CanvasCell cell) override { emit clicked(nodeOf(cell)); }
  Position positionOf(CanvasCell cell) const override;
  int items() const override { return m_tree ? m_tree->moments() : 0; }
  QRect axisArea() const override;
  double focusMiddle() const override;
  CanvasCell stepped(const CellStep& by) const override;
  bool activate(CanvasCell cell) override;
  void menuAbout(CanvasCell cell) override;
  QString tipOf(CanvasCell cell) const override;

 private:
  struct Parts {
    QRect ruler, lane, rows, tokens, legend;
    int each = 0;  // height of a level with the gap below it
  };
  /// Rows of a level that share pixels.
  struct Column {
    const TreeRow *entry = nullptr, *summary = nullptr;
    bool layer0 = false;
  };
  Parts parts() const;
  int gutter() const;
  QRect levelRect(const Parts& parts, int level) const;
  QRectF boxIn(const QRect& line, std::int32_t begin, std::int32_t end) const;
  static TreeNode nodeOf(CanvasCell cell) { return {cell.line, cell.item}; }
  static CanvasCell cellOf(TreeNode node) { return {node.level, node.start}; }
  std::optional<TreeNode> hoveredNode() const;
  TreeNode besides(TreeNode from, const CellStep& by) const;
  /// The figure of an entry that its colour stands for, where the colour stands for figures.
  float figureOf(const TreeRow& row) const;
  bool figures() const { return m_colour != TreeColour::Change && m_colour != TreeColour::Level; }
  const TreeRow* stronger(const TreeRow* a, const TreeRow* b) const;
  QString valueOf(const TreeRow& row) const;
  std::vector<LegendEntry> legend(const Theme& theme) const;
  QColor scoreColour(float score) const;
  QColor massColour(float share) const;

  void paintStored(QPainter& painter, const Parts& parts, int level, const Theme& theme) const;
  void paintRows(QPainter& painter, const QRect& line, int level, const Theme& theme) const;
  void paintColumns(QPainter& painter, const QRect& line, const std::vector<Column>& columns, const Theme& theme) const;
  void paintEntry(QPainter& painter, const QRectF& box, const TreeRow& row, bool layer0, const Theme& theme) const;
  void paintSummary(QPainter& painter, const QRectF& box, const TreeRow& row, bool layer0, const Theme& theme) const;
  void paintFill(QPainter& painter, const QRectF& box, const TreeRow& row, const Theme& theme) const;
  void paintCooling(QPainter& painter, const QRect& line, int level, const Theme& theme) const;
  void paintLocked(QPainter& painter, const QRectF& box, std::int32_t rounds, const Theme& theme) const;
  void paintText(QPainter& painter, const QRectF& box, const TreeRow& row, const Theme& theme) const;
  void paintLane(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintEarliest(QPainter& painter, const Parts& parts, const Theme& theme) const;
  QRectF paintBracket(QPainter& painter, const QRect& lane, Moments span, const QStringList& texts,
                      const QColor& colour, bool dashed, const QRectF& taken = {}) const;
  void paintTail(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintMarks(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintNames(QPainter& painter, const Parts& parts, const Theme& theme) const;

  std::shared_ptr<const WlodTree> m_tree;
  TreeColour m_colour = TreeColour::Level;
  std::optional<TreeNode> m_selected, m_marked;
  TileRows m_values;
  ColourTable m_table{};  // colours of figures, set while painting
};

}  // namespace kvlab
