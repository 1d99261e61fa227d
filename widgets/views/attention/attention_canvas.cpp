// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in attention_paint.cpp.
#include "widgets/views/attention/attention_canvas.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/place_in.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {
namespace {
constexpr int kNames = 52, kRightEdge = 10, kRulerTall = 22, kMostTall = 40;
constexpr int kTokensAbove = 70, kRoomForTokens = 170;
}  // namespace

AttentionCanvas::AttentionCanvas(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, 90);
  setAccessibleName(tr("Attention by head"));
  setToolTip(
      tr("Click focuses a row and a head; arrow keys move by rows and lines; the wheel, + and - zoom, dragging pans, 0 "
         "or a double click shows all"));
}

void AttentionCanvas::show(AttentionPicturePtr picture) {
  m_picture = std::move(picture);
  m_query = m_picture ? m_picture->lines() - 1 : -1;
  forgetHover();
  place();
}

/// Findings of checks on the row in the measured layer, else of the layer.
QString AttentionCanvas::tipOf(CanvasCell cell) const {
  if (!m_picture || findings().empty() || cell.item < 0) return {};
  const LedgerId row = m_picture->of->context[at(cell.item)];
  return findings().of(row, m_picture->layer) ? findings().text(row, m_picture->layer)
                                              : findings().text(m_picture->layer);
}

int AttentionCanvas::focusLine() const {
  if (!m_picture) return -1;
  if (m_picture->byQuery()) return std::clamp(m_query, 0, m_picture->lines() - 1);
  const auto found = std::find(m_picture->heads.begin(), m_picture->heads.end(), context().focus().head.value());
  return found == m_picture->heads.end() ? 0 : static_cast<int>(found - m_picture->heads.begin());
}

AttentionCanvas::Parts AttentionCanvas::parts() const {
  Parts p;
  const int wide = std::max(1, width() - kNames - kRightEdge);
  const bool tokens = axis().scale >= kTokenScale && height() >= kRoomForTokens;
  p.ruler = QRect(kNames, 0, wide, kRulerTall);
  p.tokens = QRect(kNames, kRulerTall, wide, tokens ? kTokensAbove : 0);
  p.readout = QRect(0, height() - kReadout, width(), kReadout);
  const int top = p.tokens.bottom() + 1 + Theme::kSmall;
  const int room = std::max(1, p.readout.top() - Theme::kMedium - top);
  p.tall = std::min<double>(kMostTall, static_cast<double>(room) / std::max(1, lines()));
  if (p.tall > 3) p.tall = std::floor(p.tall);
  p.cells = QRect(kNames, top, wide, static_cast<int>(std::lround(p.tall * lines())));
  return p;
}

int AttentionCanvas::lineTop(const Parts& p, int line) const {
  return p.cells.top() + static_cast<int>(std::lround(p.tall * line));
}

QRectF AttentionCanvas::cell(const Parts& p, int line, int row) const {
  const int top = lineTop(p, line);
  return {p.cells.left() + std::ceil(axis().pixel(row) - 1e-6), static_cast<double>(top), std::max(1.0, axis().scale),
          static_cast<double>(lineTop(p, line + 1) - top)};
}

CanvasCell AttentionCanvas::cellAt(QPoint point) const {
  const Parts p = parts();
  const int row = point.x() < kNames || point.y() > p.cells.bottom() ? -1 : axis().at(point.x() - kNames);
  if (row < 0 || point.y() < p.cells.top()) return {-1, row};
  return {std::clamp(static_cast<int>((point.y() - p.cells.top()) / p.tall), 0, lines() - 1), row};
}

int AttentionCanvas::focusRow() const {
  return m_picture ? placeIn(*m_picture->of, context().focus().ledger, context().focus().position.value()) : -1;
}

int AttentionCanvas::hoveredRow() const {
  const SnapshotPtr shown = context().snapshot();
  const int position = context().hovered().value();
  if (!m_picture || !shown || position < 0 || position >= shown->length()) return -1;
  return placeIn(*m_picture->of, shown->context[at(position)], position);
}

Position AttentionCanvas::positionOf(CanvasCell cell) const {
  const SnapshotPtr shown = context().snapshot();
  const bool known = cell.item >= 0 && shown && m_picture;
  return Position(known ? placeIn(*shown, m_picture->of->context[at(cell.item)], cell.item) : -1);
}

void AttentionCanvas::choose(CanvasCell cell) {
  if (cell.line >= 0) m_query = cell.line;
  emit clicked(cell.line, cell.item, choice());
  emit readoutChanged();
}

void AttentionCanvas::menuAbout(CanvasCell cell) {
  if (cell.item >= 0) emit pointed(cell.item);
}

QRect AttentionCanvas::rowRect(Position position) const {
  const SnapshotPtr shown = context().snapshot();
  if (!m_picture || !shown || position.value() < 0 || position.value() >= shown->length()) return {};
  const int row = placeIn(*m_picture->of, shown->context[at(position.value())], position.value());
  const Parts p = parts();
  return row < 0 ? QRect() : cell(p, focusLine(), row).toAlignedRect().intersected(p.cells);
}

QString AttentionCanvas::lineText(int line) const {
  const int query = m_picture->queryOf(line);
  return tr("head %1, query %2 %3")
      .arg(m_picture->headOf(line))
      .arg(query)
      .arg(shortTokenText(*m_picture->of, m_picture->of->context[at(query)]));
}

QString AttentionCanvas::readout() const {
  if (!m_picture) return {};
  const bool points = hovered().line >= 0 && hovered().line < lines() && hovered().item >= 0;
  const int line = points ? hovered().line : focusLine(), row = points ? hovered().item : focusRow();
  const double sum = m_picture->sum(line);
  if (std::isnan(sum)) return tr("%1: a summary asks nothing").arg(lineText(line));
  QString out = lineText(line);
  if (row >= 0) {
    const float value = m_picture->value(line, row);
    const LedgerId id = m_picture->of->context[at(row)];
    out += tr("  →  position %1 %2: %3")
               .arg(row)
               .arg(shortTokenText(*m_picture->of, id),
                    std::isnan(value) ? noValueText(*m_picture->of, id, m_picture->layer, tr("attention"))
                                      : shareText(double(value)));
    if (findings().of(id, m_picture->layer)) out += "  ✕ " + findings().text(id, m_picture->layer);
  }
  out += tr("   all rows %1").arg(shareText(sum));
  if (const float own = m_picture->own[at(line)]; own > 0)
    out += tr(", its own row, which the layer does not hold, %1").arg(shareText(double(own)));
  return out;
}

}  // namespace kvlab
