// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the slot map.
#include <QFontMetrics>
#include <QPainter>
#include <algorithm>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/views/storage/byte_kinds.h"
#include "widgets/views/storage/slot_map.h"

namespace kvlab {
namespace {
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
  if (!m_findings.empty()) out.push_back(findingLegend(theme));
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
