// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in ring_paint.cpp.
#include "widgets/views/rings/ring_canvas.h"

#include <algorithm>

#include "widgets/canvas/axis_parts.h"

namespace kvlab {
namespace {
constexpr int kSmall = 92, kSmallTall = 96, kFigureWidth = 86, kFigureHeight = 36, kFiguresWide = 236;
constexpr int kNames = 26, kLow = 400, kLeastRing = 200;  // in a low view small rings show only their names
constexpr int kBeside = 62;                               // room for labels left and right of the large ring
}  // namespace

RingCanvas::RingCanvas(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, 160);
  setAccessibleName(tr("Rings of slots"));
  setToolTip(
      tr("Click focuses a row; left and right follow the logical order, Home and End go to the oldest and the newest "
         "row, up and down change the layers"));
}

void RingCanvas::setEntries(std::vector<Entry> entries, FindingMarks findings) {
  m_entries = std::move(entries);
  m_findings = std::move(findings);
  for (Entry& entry : m_entries)
    if (entry.ring) entry.wrong = m_findings.rowsIn(entry.group.layers, entry.ring->positionOf);
  forgetHover();
  update();
}

void RingCanvas::setValues(std::optional<TileRows> values) {
  m_values = std::move(values);
  update();
}

CacheLayer RingCanvas::layerOf(const StorageGroup& group) const {
  const CacheLayer focus = context().focus().layer;
  return group.has(focus) ? focus : group.layers.front();
}

std::optional<RingColours> RingCanvas::coloursOf(const RingPicture& ring, const Theme& theme) const {
  if (!m_values) return std::nullopt;
  RingColours out{colourTable(m_values->scale().quantity, theme), {}};
  const CacheLayer layer = layerOf(ring.group);
  for (int row = 0; row < ring.rows(); ++row)
    out.rows.push_back(m_values->scale().index(m_values->value(layer, ring.group.map->ledger[at(ring.indexOf(row))])));
  return out;
}

int RingCanvas::selected() const {
  for (std::size_t i = 0; i < m_entries.size(); ++i)
    if (m_entries[i].group.has(context().focus().layer)) return static_cast<int>(i);
  return m_entries.empty() ? -1 : 0;
}

const RingPicture* RingCanvas::ring() const {
  const int entry = selected();
  if (entry < 0) return nullptr;
  const auto& ring = m_entries[at(entry)].ring;
  return ring ? &*ring : nullptr;
}

RingCanvas::Parts RingCanvas::parts() const {
  Parts p;
  const int groups = static_cast<int>(m_entries.size());
  const int figures = ring() ? static_cast<int>(ringFigures(*ring()).size()) : 0;
  p.readout = QRect(0, height() - kReadout, width(), kReadout);
  QRect rest = rect().adjusted(Theme::kMedium, Theme::kMedium, -Theme::kMedium, -kReadout - Theme::kSmall);
  const bool wide = rest.width() > rest.height() * 3 / 2;
  // In a low dock small rings would take the width of the large ring, so only their names are shown above it.
  const bool squeezed = wide && rest.width() < kSmall + kFiguresWide + kLeastRing + 2 * kBeside;
  if (groups > 1 && wide && !squeezed) {
    p.rings = QRect(rest.left(), rest.top(), kSmall, rest.height());
    p.count = std::clamp(rest.height() / kSmallTall, 1, groups);
    rest.setLeft(rest.left() + kSmall + Theme::kMedium);
  } else if (groups > 1) {
    p.named = squeezed || rest.height() < kLow;
    p.rings = QRect(rest.left(), rest.top(), rest.width(), p.named ? kNames : kSmallTall);
    p.across = p.count = std::clamp(rest.width() / kSmall, 1, groups);
    rest.setTop(p.rings.bottom() + 1 + Theme::kSmall);
  }
  p.first = std::clamp(selected() - p.count / 2, 0, std::max(0, groups - p.count));
  if (wide) {
    const int column = kFiguresWide / 2, lines = std::max(1, rest.height() / kFigureHeight);
    p.columns = std::clamp((figures + lines - 1) / lines, 2, std::max(2, (rest.width() - kLeastRing) / column));
    p.figureCount = p.columns * lines;
    p.figures = QRect(rest.right() - p.columns * column + 1, rest.top(), p.columns * column, rest.height());
    rest.setRight(p.figures.left() - Theme::kMedium);
  } else {
    p.columns = std::max(1, rest.width() / kFigureWidth);
    p.columns = (figures + (figures + p.columns - 1) / p.columns - 1) /
        std::max(1, (figures + p.columns - 1) / p.columns);  // even lines
    p.columns = std::max(1, p.columns);
    const int lines =
        std::min((figures + p.columns - 1) / p.columns, std::max(1, (rest.height() - kLeastRing) / kFigureHeight));
    const int tall = lines * kFigureHeight;
    p.figureCount = lines * p.columns;
    p.figures = QRect(rest.left(), rest.bottom() - tall + 1, rest.width(), tall);
    rest.setBottom(p.figures.top() - Theme::kSmall);
  }
  p.large = rest;
  return p;
}

RingShape RingCanvas::shapeIn(const QRect& area) const {
  RingShape shape;
  shape.centre = QRectF(area).center();
  shape.radius = std::max(20.0, std::min(area.width() / 2.0 - kBeside, area.height() / 2.0 - 30));
  shape.count = ring() ? std::max(1, ring()->slotCount()) : 1;
  return shape;
}

RingShape RingCanvas::shape() const { return shapeIn(parts().large); }

QRect RingCanvas::smallBox(const Parts& p, int entry) const {
  const int place = entry - p.first;
  if (p.count == 0 || place < 0 || place >= p.count) return {};
  const int tall = p.named ? kNames : kSmallTall;
  return {p.rings.left() + place % p.across * kSmall, p.rings.top() + place / p.across * tall, kSmall, tall};
}

QPointF RingCanvas::smallRing(int entry) const { return QRectF(smallBox(parts(), entry)).center(); }

int RingCanvas::smallAt(QPoint point) const {
  const Parts p = parts();
  for (int i = 0; i < static_cast<int>(m_entries.size()); ++i)
    if (smallBox(p, i).contains(point)) return i;
  return -1;
}

QString RingCanvas::foundOf(int row) const {
  if (m_findings.empty() || row < 0) return {};
  const StorageGroup& group = ring()->group;
  return m_findings.text(group.map->ledger[at(ring()->indexOf(row))], group.layers);
}

QString RingCanvas::tipOf(CanvasCell cell) const {
  if (cell.line < 0 || cell.line >= lines()) return {};
  return cell.item < 0 ? m_findings.text(m_entries[at(cell.line)].group.layers) : foundOf(rowIn(cell.item));
}

CanvasCell RingCanvas::cellAt(QPoint point) const {
  if (const int entry = smallAt(point); entry >= 0) return {entry, -1};
  const int slot = ring() ? shape().slotAt(point) : -1;
  return {slot < 0 ? -1 : selected(), slot};
}

CanvasCell RingCanvas::focusCell() const {
  const int row = ring() ? ring()->rowOf(context().focus().position) : -1;
  return {selected(), row < 0 ? -1 : ring()->slotOf[at(row)]};
}

Position RingCanvas::positionOf(CanvasCell cell) const {
  const int row = rowIn(cell.item);
  return Position(row < 0 ? -1 : ring()->positionOf[at(row)]);
}

void RingCanvas::choose(CanvasCell cell) {
  const StorageGroup& group = m_entries[at(cell.line)].group;
  const CacheLayer first = group.layers.front();
  if (cell.line != selected()) return emit groupChosen(first);
  const CacheLayer focus = context().focus().layer;
  if (const Position position = positionOf(cell); position.value() >= 0)
    emit clicked(group.has(focus) ? focus : first, position, choice());
}

/// Items are rows in logical order.
CanvasCell RingCanvas::stepped(const CellStep& by) const {
  if (by.lines) return {std::clamp(selected() + by.lines, 0, lines() - 1), -1};
  if (items() == 0) return {};
  const int row = ring()->rowOf(context().focus().position), to = row < 0 && !by.far ? 0 : row + by.items;
  return {selected(), ring()->slotOf[at(std::clamp(to, 0, items() - 1))]};
}

}  // namespace kvlab
