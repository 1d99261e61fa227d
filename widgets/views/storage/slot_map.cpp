// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/storage/slot_map.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QPainter>
#include <algorithm>
#include <bit>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/views/storage/storage_model.h"

namespace kvlab {
namespace {
void placeFree(SlotCells& out, const SlotRuns& free) {
  std::replace(out.use.begin(), out.use.end(), CellUse::NoRow, CellUse::Held);
  for (const auto& [begin, count] : free)
    for (std::int32_t slot = std::max(0, begin); slot < begin + count && slot < out.slotCount(); ++slot)
      if (out.use[at(slot)] == CellUse::Held) out.use[at(slot)] = CellUse::Free;
}

/// A free slot in a page with rows is a hole.
void placeHoles(SlotCells& out) {
  for (int page = 0; page < out.slotCount(); page += out.block) {
    const auto begin = out.use.begin() + page, end = out.use.begin() + std::min(page + out.block, out.slotCount());
    if (std::find(begin, end, CellUse::Row) != end) std::replace(begin, end, CellUse::Free, CellUse::Hole);
  }
}

void placeRing(SlotCells& out, const RingState& ring) {
  if (ring.capacity <= 0) return;
  out.head = ring.rolled ? 0 : ring.head;
  out.pointer = ring.rolled ? ring.filled % ring.capacity : ring.pointer();
  const int room = ring.capacity - std::max(ring.window, ring.filled);
  for (int i = 0; i < room; ++i) {
    const auto slot = at((out.pointer + i) % ring.capacity);
    if (slot < out.use.size() && (out.use[slot] == CellUse::Free || out.use[slot] == CellUse::NoRow))
      out.use[slot] = CellUse::Room;
  }
}

constexpr int kBar = 12, kNote = 16;
constexpr int kManySlots = 256;  // from here on a note may be needed
constexpr double kLargest = 18, kSmallest = 3;
constexpr int kRoom = 15;  // width of a legend mark

void paintCell(QPainter& painter, const QRectF& box, CellUse use, const Theme& theme) {
  const QColor row = Theme::mix(theme.surface, theme.accent, theme.dark ? 0.78 : 0.72);
  const bool large = box.width() >= 5;
  switch (use) {
    case CellUse::Row: return painter.fillRect(box, row);
    case CellUse::Held:
      painter.fillRect(box, Theme::mix(theme.surface, row, 0.3));
      if (!large) return;
      painter.setPen(QPen(row, 1.2));
      painter.drawLine(box.bottomLeft(), box.topRight());
      return;
    case CellUse::Hole:
      painter.fillRect(box, Theme::mix(theme.surface, theme.warning, large ? 0.22 : 0.8));
      if (large) painter.fillRect(QRectF(box.center() - QPointF(1.5, 1.5), QSizeF(3, 3)), theme.warning);
      return;
    case CellUse::Room:
      painter.fillRect(box, theme.sunken);
      if (!large) return;
      painter.setPen(QPen(theme.faint, 1));
      painter.drawLine(box.bottomLeft(), box.topRight());
      return;
    case CellUse::NoRow: return painter.fillRect(box, Theme::mix(theme.surface, theme.muted, 0.3));
    case CellUse::Free: return painter.fillRect(box, theme.sunken);
  }
}
}  // namespace

QString title(CellUse use) {
  static constexpr std::array<const char*, kCellUses> kTitles = {"free", "room for new rows", "no row",
                                                                 "row",  "held by history",   "hole in a page"};
  return QCoreApplication::translate("kvlab::SlotCells", kTitles[static_cast<std::size_t>(use)]);
}

int SlotCells::extent() const {
  const auto inUse = [](CellUse one) { return one != CellUse::Free && one != CellUse::NoRow; };
  const auto last = std::find_if(use.rbegin(), use.rend(), inUse);
  const auto wanted = std::bit_ceil(std::max<std::size_t>(64, static_cast<std::size_t>(use.rend() - last)));
  const std::size_t page = block > 0 ? at(block) : 1, whole = (wanted + page - 1) / page * page;
  return static_cast<int>(use.size() > 4 * whole ? whole : use.size());
}

SlotCells slotCells(const Snapshot& s, const StorageGroup& group, const std::optional<SlotRuns>& free) {
  SlotCells out;
  out.use.assign(at(std::max(0, group.storage->poolSlots)), CellUse::NoRow);
  out.rowAt.assign(out.use.size(), -1);
  out.positionOf = positionsOf(s, *group.map);
  for (const Slot slot : group.map->residentSlots()) {
    const auto row = static_cast<std::int32_t>(out.slotOf.size());
    out.slotOf.push_back(slot.value());
    if (slot.value() < 0 || slot.value() >= out.slotCount()) continue;
    out.use[at(slot.value())] = CellUse::Row;
    out.rowAt[at(slot.value())] = row;
  }
  if (group.storage->held == group.storage->rows)
    std::replace(out.use.begin(), out.use.end(), CellUse::NoRow, CellUse::Free);  // no slot is held by history
  if (free) placeFree(out, *free);
  if (group.storage->pages) out.block = std::max(1, group.storage->pages->block);
  if (out.block) placeHoles(out);
  if (group.storage->ring) placeRing(out, *group.storage->ring);
  for (const CellUse use : out.use) ++out.counts[at(static_cast<int>(use))];
  return out;
}

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
  setFindings(FindingMarks(*m_snapshot));
  m_wrong = findings().rowsIn(m_group.layers, m_cells.positionOf);
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
  return row < 0 ? QString() : findings().text(m_group.map->ledger[at(m_group.map->first + row)], m_group.layers);
}

QString SlotMap::readout() const {
  if (!m_snapshot) return {};
  const int under = m_cells.rowOf(context().hovered());
  if (hovered().item >= 0 && under < 0)
    return QStringList{tr("under pointer"), tr("slot %1").arg(hovered().item), title(m_cells.use[at(hovered().item)])}
        .join("   ");
  const int row = under >= 0 ? under : m_cells.rowOf(context().focus().position);
  if (row < 0) return noSlotText(*m_snapshot, context().focus(), m_group.layers.front());
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

void SlotMap::paintContent(QPainter& painter, const Theme& theme) {
  const Parts p = parts();
  if (m_snapshot) {
    paintKinds(painter, p.bytes, m_bytes, theme);
    paintLegend(painter, p.kinds, kindLegend(theme), theme);
    paintGrid(painter, p.grid, theme);
    paintMarks(painter, p.grid, theme);
    painter.setFont(theme.small);
    painter.setPen(theme.muted);
    painter.drawText(p.note, Qt::AlignLeft | Qt::AlignVCenter, note(p.grid));
    paintLegend(painter, p.legend, useLegend(theme), theme);
  }
  paintReadout(painter, p.readout, readout(), tr("click a slot to focus its row"), theme);
}

std::vector<LegendEntry> SlotMap::kindLegend(const Theme& theme) const {
  std::vector<LegendEntry> out;
  for (int i = 0; i < kByteKinds; ++i)
    if (const auto kind = static_cast<ByteKind>(i); m_bytes.of(kind))
      out.push_back({QStringLiteral("%1 %2").arg(title(kind), formatBytes(m_bytes.of(kind))), kRoom,
                     [kind, &theme](QPainter& painter, const QRect& box) {
                       paintKind(painter, QRectF(box.left(), box.center().y() - 4, 10, 10), kind, theme);
                     }});
  return out;
}

std::vector<LegendEntry> SlotMap::useLegend(const Theme& theme) const {
  std::vector<LegendEntry> out;
  for (const CellUse use : {CellUse::Row, CellUse::Held, CellUse::Hole, CellUse::Room, CellUse::NoRow, CellUse::Free})
    if (m_cells.countOf(use))
      out.push_back({QStringLiteral("%1 %2").arg(title(use)).arg(m_cells.countOf(use)), kRoom,
                     [use, &theme](QPainter& painter, const QRect& box) {
                       paintCell(painter, QRectF(box.left(), box.center().y() - 4, 10, 10), use, theme);
                     }});
  if (!findings().empty()) out.push_back(findingLegend(theme));
  return out;
}

void SlotMap::paintGrid(QPainter& painter, const Grid& g, const Theme& theme) const {
  const int count = drawn(), cells = (count + g.each - 1) / g.each;
  const double gap = g.cell >= 6 ? 1.5 : g.cell >= 4 ? 1 : 0.5;
  if (g.pageColumns && g.cell >= 6) {
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(Qt::NoBrush);
    for (int page = 0; page < cells; page += g.pageColumns) {
      const QRectF first = cellRect(g, page), last = cellRect(g, std::min(page + g.pageColumns, cells) - 1);
      painter.drawRect(
          QRectF(first.left() - 2, first.top() - 2, last.right() - first.left() - gap + 3.5, g.cell - gap + 3.5));
    }
  }
  for (int cell = 0; cell < cells; ++cell) {
    const auto begin = m_cells.use.begin() + cell * g.each,
               end = m_cells.use.begin() + std::min((cell + 1) * g.each, count);
    paintCell(painter, cellRect(g, cell).adjusted(0, 0, -gap, -gap), *std::max_element(begin, end), theme);
  }
}

QString SlotMap::note(const Grid& g) const {
  QStringList out;
  if (g.each > 1) out << tr("a cell stands for %1 slots").arg(g.each);
  const int more = m_cells.slotCount() - drawn();
  if (more > 0) out << counted(more, tr("more slot without a row"), tr("more slots without a row"));
  return out.join(QStringLiteral("; "));
}

void SlotMap::paintMarks(QPainter& painter, const Grid& g, const Theme& theme) const {
  const double gap = g.cell >= 6 ? 1.5 : g.cell >= 4 ? 1 : 0.5;
  const auto boxOf = [&](int slot) { return cellRect(g, slot / g.each).adjusted(0, 0, -gap, -gap); };
  painter.setRenderHint(QPainter::Antialiasing);
  const auto mark = [&](int slot, bool filled) {
    if (slot < 0 || slot >= drawn()) return;
    const QRectF box = boxOf(slot);
    const double size = std::clamp(g.cell / 3, 2.5, 5.0);
    painter.setPen(QPen(theme.text, 1.3));
    painter.setBrush(filled ? QBrush(theme.text) : QBrush(theme.surface));
    painter.drawPolygon(QPolygonF({box.topLeft() + QPointF(-1, 0), box.topLeft() + QPointF(size * 1.6 - 1, 0),
                                   box.topLeft() + QPointF(-1, size * 1.6)}));
  };
  mark(m_cells.head, false);
  mark(m_cells.pointer, true);
  const auto outline = [&](int row, const QColor& colour, int wide) {
    if (row < 0 || m_cells.slotOf[at(row)] < 0 || m_cells.slotOf[at(row)] >= drawn()) return;
    paintOutline(painter, boxOf(m_cells.slotOf[at(row)]).adjusted(-1, -1, 1, 1), colour, wide, theme);
  };
  for (const int row : m_wrong)
    if (const int slot = m_cells.slotOf[at(row)]; slot >= 0 && slot < drawn())
      paintFinding(painter, boxOf(slot), theme);
  outline(m_cells.rowOf(context().hovered()), theme.hover, 1);
  outline(m_cells.rowOf(context().focus().position), theme.focus, 2);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace kvlab
