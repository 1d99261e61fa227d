// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the matrix of attention. The cells are one image; everything else is drawn for the visible range only.
#include <QPainter>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/canvas/cell_grid.h"
#include "widgets/views/attention/attention_canvas.h"

namespace kvlab {

void AttentionCanvas::paintContent(QPainter& painter, const Theme& theme) {
  if (!m_picture) return;
  const Parts p = parts();
  const Snapshot& of = *m_picture->of;
  paintCells(painter, p, theme);
  paintRuler(painter, p.ruler, width(), axis(), theme);
  paintNames(painter, p, theme);
  painter.save();
  painter.setClipRect(QRect(p.cells.left(), 0, p.cells.width(), height()));
  paintTokenTexts(
      painter, p.tokens, axis(), focusRow(), [&of](int row) { return shortTokenText(of, of.context[at(row)]); }, theme);
  paintSelectedRows(painter, context(), m_picture->of->context, axis(), p.cells, p.ruler.bottom(), theme);
  paintCrossHair(painter, p, theme);
  paintWrong(painter, p, theme);
  painter.restore();
  paintReadout(painter, p.readout, readout(), tr("click a cell to focus its row and head"), theme);
}

void AttentionCanvas::paintCells(QPainter& painter, const Parts& p, const Theme& theme) {
  const double dpr = painter.deviceTransform().m11();
  if (m_cells.size() != cellImageSize(p.cells, dpr) || m_cellsDark != theme.dark) {
    std::vector<int> tops;
    for (int line = 0; line <= lines(); ++line) tops.push_back(lineTop(p, line));
    m_cells = cellImage({m_picture->cells, axis(), p.cells, std::move(tops), p.tall >= 6}, dpr,
                        colourTable(Quantity::Attention, theme), theme);
    m_cellsDark = theme.dark;
  }
  painter.drawImage(p.cells.topLeft(), m_cells);
}

/// Numbers of heads, or positions of queries, as many as fit; the focused line always has its number.
void AttentionCanvas::paintNames(QPainter& painter, const Parts& p, const Theme& theme) const {
  painter.setFont(theme.monoSmall);
  int every = 1;
  while (p.tall * every < 13) every *= 2;
  const int focus = focusLine();
  for (int line = 0; line < lines(); ++line) {
    const bool near = line != focus && std::abs(line - focus) * p.tall < 13;
    if ((line % every && line != focus) || near) continue;
    const int tall = std::max(13, static_cast<int>(p.tall));
    const QRect box(0, lineTop(p, line) + (static_cast<int>(p.tall) - tall) / 2, p.cells.left() - 7, tall);
    painter.setPen(line == focus ? theme.text : theme.faint);
    painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter,
                     QString::number(m_picture->byQuery() ? m_picture->queryOf(line) : m_picture->headOf(line)));
  }
  painter.setFont(theme.small);
  painter.setPen(theme.faint);
  painter.drawText(QRect(0, 0, p.cells.left() - 7, p.ruler.height()), Qt::AlignRight | Qt::AlignVCenter,
                   m_picture->byQuery() ? tr("query") : tr("head"));
}

/// A finding of a row marks its column, one of the layer the whole matrix.
void AttentionCanvas::paintWrong(QPainter& painter, const Parts& p, const Theme& theme) const {
  for (const FindingMark& one : findings().all()) {
    if (!one.concerns(m_picture->layer) || (!one.layer && one.row.value() < 0)) continue;
    const int row = one.placeIn(*m_picture->of, m_picture->layer);
    if (row < 0 && one.row.value() >= 0) continue;
    const QRectF column = row < 0 ? QRectF(p.cells.left() + 3, 0, p.cells.width() - 6, 0) : cell(p, 0, row);
    paintFinding(painter, QRectF(column.left(), p.cells.top(), column.width(), p.cells.height()), theme);
  }
}

void AttentionCanvas::paintCrossHair(QPainter& painter, const Parts& p, const Theme& theme) const {
  const auto frame = [&](const QRectF& box, const QColor& colour, int wide) {
    paintOutline(painter,
                 QRectF(std::round(box.left()), box.top(), std::max(3.0, std::round(box.width())), box.height()),
                 colour, wide, theme);
  };
  if (const int row = hoveredRow(); row >= 0) {
    const QRectF top = cell(p, 0, row);
    painter.fillRect(QRectF(top.left(), p.cells.top(), top.width(), p.cells.height()), Theme::faded(theme.hover, 30));
    if (hovered().line >= 0 && hovered().line < lines()) frame(cell(p, hovered().line, row), theme.hover, 1);
  }
  const int line = focusLine(), row = focusRow();
  const QRectF whole(p.cells.left(), lineTop(p, line), p.cells.width(), lineTop(p, line + 1) - lineTop(p, line));
  frame(whole, Theme::faded(theme.focus, 150), 1);
  if (row < 0) return;
  const QRectF column = cell(p, 0, row);
  frame(QRectF(column.left(), p.cells.top(), column.width(), p.cells.height()), Theme::faded(theme.focus, 150), 1);
  frame(cell(p, line, row), theme.focus, 2);
  paintArrow(painter, QPointF(column.center().x(), p.ruler.bottom() + 0.5), -6, theme.focus);
}

}  // namespace kvlab
