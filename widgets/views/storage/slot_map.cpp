// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in slot_map_paint.cpp.
#include "widgets/views/storage/slot_map.h"

#include <QFontMetrics>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"

namespace kvlab {
namespace {
constexpr int kBar = 12, kNote = 16;
constexpr int kManySlots = 256;  // from here on a note may be needed
constexpr double kLargest = 18, kSmallest = 3;
}  // namespace

SlotMap::SlotMap(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, 120);
  setAccessibleName(tr("Slots of the pool"));
  setToolTip(
      tr("Click focuses the row in a slot; left and right go to the slot with a row before and after, Home and End to "
         "the first and the last"));
}

void SlotMap::show(SnapshotPtr snapshot, const StorageGroup& group, SlotCells cells) {
  m_snapshot = std::move(snapshot);
  m_group = group;
  m_cells = std::move(cells);
  m_extent = m_cells.extent();
  m_bytes = bytesOf(group);
  m_findings = FindingMarks(*m_snapshot);
  m_wrong = m_findings.rowsIn(m_group.layers, m_cells.positionOf);
  if (hovered().item >= drawn()) forgetHover();
  update();
}

void SlotMap::showPool(bool whole) {
  m_whole = whole;
  forgetHover();
  update();
}

void SlotMap::clear() {
  m_snapshot.reset();
  m_cells = {};
  m_extent = 0;
  forgetHover();
  update();
}

SlotMap::Parts SlotMap::parts() const {
  Parts p;
  p.readout = QRect(0, height() - kReadout, width(), kReadout);
  QRect rest = rect().adjusted(Theme::kLarge, Theme::kMedium, -Theme::kLarge, -kReadout - Theme::kSmall);
  p.bytes = QRect(rest.left(), rest.top(), rest.width(), kBar);
  p.kinds = QRect(rest.left(), p.bytes.bottom() + 1 + Theme::kSmall, rest.width(),
                  legendHeight(kindLegend(*Theme::current()), rest.width()));
  const int legend = legendHeight(useLegend(*Theme::current()), rest.width());
  p.legend = QRect(rest.left(), rest.bottom() - legend + 1, rest.width(), legend);
  const bool noted = m_cells.slotCount() > kManySlots;
  p.note = QRect(rest.left(), p.legend.top() - (noted ? kNote : 0), rest.width(), kNote);
  p.grid = gridIn(QRect(rest.left(), p.kinds.bottom() + 1 + Theme::kMedium, rest.width(),
                        std::max(8, p.note.top() - p.kinds.bottom() - 1 - 2 * Theme::kMedium)));
  return p;
}

SlotMap::Grid SlotMap::gridIn(const QRect& area) const {
  Grid grid;
  grid.area = area;
  const int count = std::max(1, drawn());
  for (double cell = kLargest; cell >= kSmallest; --cell) {
    grid.cell = cell;
    grid.pageColumns = m_cells.block;
    grid.pageGap = m_cells.block ? (cell >= 6 ? 6 : 3) : 0;
    grid.line = cell + (m_cells.block && cell >= 6 ? 4 : 0);
    const double page = m_cells.block * cell + grid.pageGap;
    const int pages = m_cells.block ? static_cast<int>((area.width() + grid.pageGap) / page) : 0;
    if (m_cells.block && pages < 1) continue;
    grid.columns = m_cells.block ? pages * m_cells.block : std::max(1, static_cast<int>(area.width() / cell));
    if ((count + grid.columns - 1) / grid.columns * grid.line <= area.height()) return grid;
  }
  grid.cell = grid.line = kSmallest;
  grid.pageColumns = 0;
  grid.pageGap = 0;
  grid.columns = std::max(1, static_cast<int>(area.width() / kSmallest));
  const int lines = std::max(1, static_cast<int>(area.height() / kSmallest));
  grid.each = std::max(1, (count + grid.columns * lines - 1) / (grid.columns * lines));
  return grid;
}

QRectF SlotMap::cellRect(const Grid& g, int cell) const {
  const int column = cell % g.columns, line = cell / g.columns;
  const double gaps = g.pageColumns ? column / g.pageColumns * g.pageGap : 0;
  return {g.area.left() + column * g.cell + gaps, g.area.top() + line * g.line, g.cell, g.cell};
}

QPointF SlotMap::middleOf(int slot) const {
  const Grid grid = parts().grid;
  return cellRect(grid, slot / grid.each).center();
}

int SlotMap::slotAt(QPointF point) const {
  const Grid g = parts().grid;
  const int line = static_cast<int>(std::floor((point.y() - g.area.top()) / g.line));
  if (line < 0 || point.x() < g.area.left()) return -1;
  const double page = g.pageColumns * g.cell + g.pageGap, x = point.x() - g.area.left();
  int column = static_cast<int>(x / g.cell);
  if (g.pageColumns) {
    const int inside = static_cast<int>(std::fmod(x, page) / g.cell);
    if (inside >= g.pageColumns) return -1;
    column = static_cast<int>(x / page) * g.pageColumns + inside;
  }
  if (column >= g.columns) return -1;
  const int begin = (line * g.columns + column) * g.each;
  for (int slot = begin; slot < std::min(begin + g.each, drawn()); ++slot)  // prefer a row if slots share a cell
    if (m_cells.rowAt[at(slot)] >= 0) return slot;
  return begin < drawn() ? begin : -1;
}

CanvasCell SlotMap::focusCell() const {
  const int row = m_cells.rowOf(context().focus().position);
  return {0, row < 0 ? -1 : m_cells.slotOf[at(row)]};
}

Position SlotMap::positionOf(CanvasCell cell) const {
  const int row = rowIn(cell.item);
  return Position(row < 0 ? -1 : m_cells.positionOf[at(row)]);
}

void SlotMap::choose(CanvasCell cell) {
  if (const Position position = positionOf(cell); position.value() >= 0) emit clicked(position, choice());
}

/// Moves to the next slot with a row in slot order, from the focused one or from outside; stops at pages and ends.
CanvasCell SlotMap::stepped(const CellStep& by) const {
  const Grid grid = parts().grid;
  const int all = m_cells.slotCount(), far = by.items + by.lines * grid.columns * grid.each;
  const int from = focusCell().item >= 0 ? focusCell().item : far < 0 ? all : -1;
  int slot = std::clamp(from + far, 0, std::max(0, all - 1));
  const int direction = (far < 0) == by.far ? 1 : -1;
  while (slot >= 0 && slot < all && rowIn(slot) < 0) slot += direction;
  return slot >= 0 && slot < all ? CanvasCell{0, slot} : CanvasCell();
}

QString SlotMap::findingIn(int row) const {
  return m_findings.empty() || row < 0
      ? QString()
      : m_findings.text(m_group.map->ledger[at(m_group.map->first + row)], m_group.layers);
}

QString SlotMap::readout() const {
  if (!m_snapshot) return {};
  const int under = m_cells.rowOf(context().hovered());
  if (hovered().item >= 0 && under < 0)
    return QStringList{tr("under pointer"), tr("slot %1").arg(hovered().item), title(m_cells.use[at(hovered().item)])}
        .join("   ");
  const int row = under >= 0 ? under : m_cells.rowOf(context().focus().position);
  if (row < 0) {
    const LedgerId id = context().focus().ledger;
    if (context().focus().position.value() < 0) return ghostText(*m_snapshot, context().focus());
    const bool left = leftThroughWindow(*m_snapshot, m_group.layers.front(), id);
    return QStringList{tr("focus"), tokenText(*m_snapshot, id),
                       left ? tr("left through the window: it has no slot") : tr("not resident here")}
        .join("   ");
  }
  const auto index = at(m_group.map->first + row);
  QStringList parts{under >= 0 ? tr("under pointer") : tr("focus"), tokenText(*m_snapshot, m_group.map->ledger[index]),
                    tr("slot %1").arg(m_cells.slotOf[at(row)])};
  if (m_cells.block)
    parts << tr("page %1, place %2")
                 .arg(m_cells.slotOf[at(row)] / m_cells.block)
                 .arg(m_cells.slotOf[at(row)] % m_cells.block);
  parts << tr("index %1").arg(index) << tr("position %1").arg(m_cells.positionOf[at(row)]);
  if (const QString found = findingIn(row); !found.isEmpty()) parts << found;
  return parts.join("   ");
}

}  // namespace kvlab
