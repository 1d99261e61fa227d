// SPDX-License-Identifier: GPL-3.0-or-later
// The slots of one layer's pool as a grid of cells, with pages as blocks and the marks of a ring. Above the grid: the
// bytes of the group by kind. Below it: a legend with counts. The grid ends behind the slots in use, unless the whole
// pool is wanted. If slots share a cell, the cell shows the most important use. Owned by the storage view. GUI thread.
// Device-independent pixels.
#pragma once
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "widgets/base/finding_marks.h"
#include "widgets/base/storage_groups.h"
#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/storage/storage_model.h"

namespace kvlab {

/// The content of each slot of a pool. Rows come from the residency map. The free slots among the others are known for
/// the newest tick only, after a query. Later values win if slots share a cell.
enum class CellUse : std::uint8_t { Free, Room, NoRow, Row, Held, Hole };
inline constexpr int kCellUses = 6;
QString title(CellUse use);

struct SlotCells {
  std::vector<CellUse> use;              // [slots]
  std::vector<std::int32_t> rowAt;       // [slots] row in logical order, -1 = none
  std::vector<std::int32_t> slotOf;      // [rows]
  std::vector<std::int32_t> positionOf;  // [rows]
  std::array<int, kCellUses> counts{};   // by use
  int block = 0;                         // slots per page, 0 = no pages
  int head = -1, pointer = -1;           // ring layouts, else -1

  int slotCount() const { return static_cast<int>(use.size()); }
  int countOf(CellUse what) const { return counts[static_cast<std::size_t>(what)]; }
  int rowOf(Position position) const { return kvlab::rowAt(positionOf, position); }
  /// Slots worth drawing: all of them, unless few of a large pool are in use. Then those up to the last one in use, and
  /// some more, so that the number changes seldom: a power of two, at least 64, in whole pages.
  int extent() const;
};

using SlotRuns = std::vector<std::pair<std::int32_t, std::int32_t>>;  // first slot, count

/// free: runs of free slots; empty if unknown.
SlotCells slotCells(const Snapshot& snapshot, const StorageGroup& group, const std::optional<SlotRuns>& free);

class SlotMap : public AxisCanvas {
  Q_OBJECT
 public:
  SlotMap(InspectorContext& context, QWidget* parent);
  void show(SnapshotPtr snapshot, const StorageGroup& group, SlotCells cells);
  void clear();
  void showPool(bool whole);
  const SlotCells& cells() const { return m_cells; }
  /// Slots that have cells, from slot 0 on.
  int drawn() const { return m_whole ? m_cells.slotCount() : m_extent; }
  QString readout() const override;
  /// Centre of a slot's cell.
  QPointF middleOf(int slot) const;
  int slotAt(QPointF point) const;

 signals:
  void clicked(kvlab::Position position, kvlab::InspectorContext::Choice choice);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override { return {0, slotAt(point)}; }
  CanvasCell focusCell() const override;
  void choose(CanvasCell cell) override;
  Position positionOf(CanvasCell cell) const override;
  int items() const override { return drawn(); }
  CanvasCell stepped(const CellStep& by) const override;
  QString tipOf(CanvasCell cell) const override { return findingIn(rowIn(cell.item)); }

 private:
  /// Geometry of the grid: `cell` pixels per cell, `each` slots per cell.
  struct Grid {
    QRectF area;
    double cell = 1, line = 1;  // distance of columns and lines
    int columns = 1, each = 1, pageColumns = 0;
    double pageGap = 0;
  };
  struct Parts {
    QRect bytes, kinds, note, legend, readout;
    Grid grid;
  };
  Parts parts() const;
  Grid gridIn(const QRect& area) const;
  QRectF cellRect(const Grid& grid, int cell) const;
  std::vector<LegendEntry> kindLegend(const Theme& theme) const;
  std::vector<LegendEntry> useLegend(const Theme& theme) const;
  int rowIn(int slot) const { return slot < 0 ? -1 : m_cells.rowAt[at(slot)]; }

  /// Findings of checks on a row of the layers, a line each.
  QString findingIn(int row) const;
  /// The meaning of a cell that is not one slot, and how many slots have no cell.
  QString note(const Grid& grid) const;
  void paintGrid(QPainter& painter, const Grid& grid, const Theme& theme) const;
  void paintMarks(QPainter& painter, const Grid& grid, const Theme& theme) const;

  SnapshotPtr m_snapshot;
  StorageGroup m_group;
  SlotCells m_cells;
  int m_extent = 0;  // extent of the cells
  ByteKinds m_bytes;
  std::vector<std::int32_t> m_wrong;  // rows that a check has found wrong
  bool m_whole = false;
};

}  // namespace kvlab
