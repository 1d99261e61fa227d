// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/rings/ring_canvas.h"

#include <QFontMetrics>
#include <QPainter>
#include <algorithm>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/rings/ring_painter.h"

namespace kvlab {
namespace {
constexpr int kSmall = 92, kSmallTall = 96, kFigureWidth = 86, kFigureHeight = 36, kFiguresWide = 236;
constexpr int kFigureLine = 19, kFigureColumn = 176;      // name and value side by side: the ring has the room
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

void RingCanvas::setEntries(std::vector<Entry> entries, FindingMarks found) {
  m_entries = std::move(entries);
  setFindings(std::move(found));
  for (Entry& entry : m_entries)
    if (entry.ring) entry.wrong = findings().rowsIn(entry.group.layers, entry.ring->positionOf);
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
  p.figureTall = kFigureHeight;
  if (wide && figures * kFigureLine <= rest.height() && rest.width() >= kFigureColumn + kLeastRing) {
    p.columns = 1, p.figureCount = figures, p.figureTall = kFigureLine;
    p.figures = QRect(rest.right() - kFigureColumn + 1, rest.top(), kFigureColumn, rest.height());
    rest.setRight(p.figures.left() - Theme::kMedium);
  } else if (wide) {
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
  if (row < 0) return {};
  const StorageGroup& group = ring()->group;
  return findings().text(group.map->ledger[at(ring()->indexOf(row))], group.layers);
}

QString RingCanvas::tipOf(CanvasCell cell) const {
  if (cell.line < 0 || cell.line >= lines()) return {};
  return cell.item < 0 ? findings().text(m_entries[at(cell.line)].group.layers) : foundOf(rowIn(cell.item));
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

void RingCanvas::paintContent(QPainter& painter, const Theme& theme) {
  const Parts p = parts();
  paintSmall(painter, p, theme);
  if (ring()) {
    paintLarge(painter, p, theme);
    paintFigures(painter, p, theme);
  } else if (selected() >= 0) {
    paintAbsent(painter, p, theme);
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  paintReadout(painter, p.readout, readout(), tr("click a slot to focus its row; arrows follow the logical order"),
               theme);
}

void RingCanvas::paintSmall(QPainter& painter, const Parts& p, const Theme& theme) const {
  for (int i = p.first; i < p.first + p.count; ++i) {
    const Entry& entry = m_entries[at(i)];
    const QRect box = smallBox(p, i).adjusted(2, 2, -2, -2);
    const bool here = i == selected();
    painter.setRenderHint(QPainter::Antialiasing, false);
    if (here) {
      painter.fillRect(box, theme.selection);
      painter.fillRect(QRect(box.left(), box.bottom() - 1, box.width(), 2), theme.accent);
    }
    const QRect name(box.left() + 2, p.named ? box.top() : box.bottom() - 18, box.width() - 4,
                     p.named ? box.height() - 2 : 16),
        picture(box.left(), box.top(), box.width(), box.height() - 20);
    if (!p.named && entry.ring) {
      RingShape shape;
      shape.centre = QRectF(picture).center();
      shape.radius = std::min(picture.width(), picture.height()) / 2.0 - 8;
      shape.count = std::max(1, entry.ring->slotCount());
      RingPainter(painter, *entry.ring, shape, picture, theme, coloursOf(*entry.ring, theme)).bands();
    } else if (!p.named) {
      painter.setFont(theme.small);
      painter.setPen(theme.faint);
      painter.drawText(picture.adjusted(4, 4, -4, 0), Qt::AlignCenter | Qt::TextWordWrap,
                       tr("no ring:\n%1").arg(QString::fromStdString(entry.group.storage->layout).section(':', 0, 0)));
    }
    const bool wrong = !findings().text(entry.group.layers).isEmpty();
    painter.setFont(here ? theme.smallStrong : theme.small);
    painter.setPen(wrong ? theme.error : here ? theme.text : theme.muted);
    painter.drawText(name, Qt::AlignCenter,
                     painter.fontMetrics().elidedText((wrong ? QStringLiteral("✕ ") : QString()) + entry.group.name(),
                                                      Qt::ElideRight, name.width()));
  }
}

void RingCanvas::paintLarge(QPainter& painter, const Parts& p, const Theme& theme) const {
  const RingShape shape = shapeIn(p.large);
  RingPainter round(painter, *ring(), shape, p.large, theme, coloursOf(*ring(), theme));
  round.bands();
  round.centre();
  for (const int row : m_entries[at(selected())].wrong) round.wrongRow(row);
  const int focus = ring()->rowOf(context().focus().position), hover = ring()->rowOf(context().hovered());
  if (focus >= 0) round.row(focus, theme.focus, 2);
  if (hover >= 0 && hover != focus) round.row(hover, theme.hover, 1);
  round.labels();
}

/// Paints a notice if the focused layer has no ring but others do.
void RingCanvas::paintAbsent(QPainter& painter, const Parts& p, const Theme& theme) const {
  const StorageGroup& group = m_entries[at(selected())].group;
  painter.setFont(theme.ui);
  painter.setPen(theme.muted);
  painter.drawText(p.large.adjusted(Theme::kHuge, 0, -Theme::kHuge, 0), Qt::AlignCenter | Qt::TextWordWrap,
                   tr("The rows of %1 are stored as %2: there is no ring here.\nChoose other layers, or "
                      "s.settings({layers: [{match: %3, layout: \"ring_fused\"}]}).")
                       .arg(group.name(), QString::fromStdString(group.storage->layout))
                       .arg(group.all.layerOf(group.layers.front()).value()));
}

void RingCanvas::paintFigures(QPainter& painter, const Parts& p, const Theme& theme) const {
  painter.setRenderHint(QPainter::Antialiasing, false);
  const std::vector<RingFigure> figures = ringFigures(*ring());
  const int wide = p.figures.width() / p.columns, tall = p.figureTall;
  const bool beside = tall == kFigureLine;
  for (std::size_t i = 0; i < figures.size() && static_cast<int>(i) < p.figureCount; ++i) {
    const int place = static_cast<int>(i);
    const QRect box(p.figures.left() + place % p.columns * wide, p.figures.top() + place / p.columns * tall,
                    wide - Theme::kSmall, tall);
    const int indent = figures[i].mark == RingMark::None ? 0 : 14;
    RingPainter::swatch(painter, QRectF(box.left() + 0.5, box.top() + 4.5, 9, 9), figures[i].mark, theme);
    const QRect value = beside ? box : box.adjusted(indent, 16, 0, 0);
    painter.setFont(theme.mono);
    painter.setPen(theme.text);
    const int taken = beside ? painter.fontMetrics().horizontalAdvance(figures[i].value) + Theme::kSmall : 0;
    painter.drawText(value, beside ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignTop,
                     painter.fontMetrics().elidedText(figures[i].value, Qt::ElideRight, value.width()));
    painter.setFont(theme.small);
    painter.setPen(figures[i].mark == RingMark::Wrong ? theme.error : theme.muted);
    painter.drawText(box.adjusted(beside ? 14 : indent, 0, 0, beside ? 0 : -18), Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(figures[i].name, Qt::ElideRight, box.width() - 14 - taken));
  }
}

QString RingCanvas::readout() const {
  const RingPicture* shown = ring();
  if (!shown) return {};
  const Snapshot& s = *shown->snapshot;
  const int under = shown->rowOf(context().hovered()), focused = shown->rowOf(context().focus().position);
  if (hovered().item >= 0 && under < 0)
    return QStringList{tr("under pointer"), shown->describe(hovered().item)}.join("   ");
  const int row = under >= 0 ? under : focused;
  if (row < 0) return noSlotText(s, context().focus(), shown->group.layers.front());
  const LedgerId id = shown->group.map->ledger[at(shown->indexOf(row))];
  QStringList out{under >= 0 ? tr("under pointer") : tr("focus"), tokenText(s, id)};
  if (const QString found = foundOf(row); !found.isEmpty()) out << found;
  if (m_values) out << valueText(m_values->scale().quantity, m_values->value(layerOf(shown->group), id));
  return (out << shown->describe(shown->slotOf[at(row)]) << tr("ledger %1").arg(id.value())).join("   ");
}

}  // namespace kvlab
