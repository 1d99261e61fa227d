// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the rings view's canvas.
#include <QFontMetrics>
#include <QPainter>

#include "widgets/base/inspector_view.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/rings/ring_canvas.h"
#include "widgets/views/rings/ring_painter.h"

namespace kvlab {

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
    const bool wrong = !m_findings.text(entry.group.layers).isEmpty();
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
  const int wide = p.figures.width() / p.columns, tall = 36;
  for (std::size_t i = 0; i < figures.size() && static_cast<int>(i) < p.figureCount; ++i) {
    const int place = static_cast<int>(i);
    const QRect box(p.figures.left() + place % p.columns * wide, p.figures.top() + place / p.columns * tall,
                    wide - Theme::kSmall, tall);
    const int indent = figures[i].mark == RingMark::None ? 0 : 14;
    RingPainter::swatch(painter, QRectF(box.left() + 0.5, box.top() + 4.5, 9, 9), figures[i].mark, theme);
    painter.setFont(theme.small);
    painter.setPen(figures[i].mark == RingMark::Wrong ? theme.error : theme.muted);
    painter.drawText(box.adjusted(indent, 0, 0, -18), Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(figures[i].name, Qt::ElideRight, box.width() - indent));
    painter.setFont(theme.mono);
    painter.setPen(theme.text);
    painter.drawText(box.adjusted(indent, 16, 0, 0), Qt::AlignTop,
                     painter.fontMetrics().elidedText(figures[i].value, Qt::ElideRight, box.width() - indent));
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
  if (row < 0) {
    if (context().focus().position.value() < 0) return ghostText(s, context().focus());
    const bool left = leftThroughWindow(s, shown->group.layers.front(), context().focus().ledger);
    return QStringList{tr("focus"), tokenText(s, context().focus().ledger),
                       left ? tr("left through the window: it has no slot") : tr("not resident here")}
        .join("   ");
  }
  const LedgerId id = shown->group.map->ledger[at(shown->indexOf(row))];
  QStringList out{under >= 0 ? tr("under pointer") : tr("focus"), tokenText(s, id)};
  if (const QString found = foundOf(row); !found.isEmpty()) out << found;
  if (m_values) out << valueText(m_values->scale().quantity, m_values->value(layerOf(shown->group), id));
  return (out << shown->describe(shown->slotOf[at(row)]) << tr("ledger %1").arg(id.value())).join("   ");
}

}  // namespace kvlab
