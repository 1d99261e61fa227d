// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the map. The cells are one image; everything else is drawn for the visible range only.
#include <QFontMetrics>
#include <QPainter>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"
#include "widgets/canvas/cell_grid.h"
#include "widgets/views/map/map_canvas.h"

namespace kvlab {
void MapCanvas::paintContent(QPainter& painter, const Theme& theme) {
  if (!m_picture) return;
  const Parts p = parts();
  paintCells(painter, p, theme);
  paintRuler(painter, p.ruler, width(), axis(), theme);
  paintLayerNames(painter, p, theme);
  painter.save();
  painter.setClipRect(QRect(p.cells.left(), 0, p.cells.width(), height()));
  paintTokenTexts(
      painter, p.tokens, axis(), context().focus().position.value(),
      [this](int position) {
        const Snapshot& s = *m_picture->snapshot;
        return shortTokenText(s, s.context[at(position)]);
      },
      theme);
  paintCellTexts(painter, p, theme);
  paintStale(painter, p, theme);
  paintGhosts(painter, p, theme);
  paintSelectedRows(painter, context(), m_picture->snapshot->context, axis(), p.cells, p.ruler.bottom(), theme);
  paintMarks(painter, p, theme);
  paintWrong(painter, p, theme);
  paintCrossHair(painter, p, theme);
  painter.restore();
  if (!axis().fitted) paintOverview(painter, p, theme);
  paintReadout(painter, p.readout, readout(),
               tr("click a cell to focus it; wheel zooms, dragging pans, double click shows all"), theme, m_note,
               !m_picture->findings.empty());
}

void MapCanvas::paintCells(QPainter& painter, const Parts& p, const Theme& theme) {
  const double dpr = painter.deviceTransform().m11();
  if (m_cells.size() != cellImageSize(p.cells, dpr) || m_cellsDark != theme.dark) {
    std::vector<int> tops;
    for (int l = 0; l <= layers(); ++l) tops.push_back(layerTop(p, l));
    m_cells = cellImage({m_picture->cells, axis(), p.cells, std::move(tops), p.layerHeight >= 6}, dpr,
                        colourTable(m_picture->scale.quantity, theme), theme);
    m_cellsDark = theme.dark;
  }
  painter.drawImage(p.cells.topLeft(), m_cells);
}

void MapCanvas::paintLayerNames(QPainter& painter, const Parts& p, const Theme& theme) const {
  painter.setFont(theme.monoSmall);
  int every = 1;
  while (p.layerHeight * every < 13) every *= 2;
  const int focus = context().focus().layer.value();
  for (int l = 0; l < layers(); ++l) {
    const bool wrong = m_picture->findings.in(CacheLayer(l));
    if (l % every && !wrong) continue;
    const QRect box(0, layerTop(p, l), p.cells.left() - 7, std::max(13, static_cast<int>(p.layerHeight)));
    painter.setPen(wrong ? theme.error : l == focus ? theme.text : theme.faint);
    painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter,
                     (wrong ? QStringLiteral("✕") : QString()) + layerText(*m_picture->snapshot, CacheLayer(l)));
  }
  painter.setFont(theme.small);
  painter.setPen(theme.faint);
  painter.drawText(QRect(0, 0, p.cells.left() - 7, p.ruler.height()), Qt::AlignRight | Qt::AlignVCenter, tr("layer"));
}

void MapCanvas::paintCellTexts(QPainter& painter, const Parts& p, const Theme& theme) const {
  const Quantity quantity = m_picture->scale.quantity;
  if (axis().scale < 46 || p.layerHeight < 15) return;
  const ColourTable colours = colourTable(quantity, theme);
  painter.setFont(theme.monoSmall);
  const QFontMetrics metrics = painter.fontMetrics();
  const auto [begin, end] = axis().inSight();
  const Tile& tile = *m_picture->tile;
  for (int l = 0; l < layers(); ++l)
    for (int i = begin; i < end; ++i) {
      const std::uint8_t index = m_picture->cells.at(l, i);
      if (index == MaxPyramid::kNone) continue;
      const float value = tile.values[at(l) * at(tile.positions) + at(i)];
      painter.setPen(readableOn(colours[index]));
      const QRectF box = cell(p, l, i);
      painter.drawText(
          box, Qt::AlignCenter,
          metrics.elidedText(shortValueText(quantity, value), Qt::ElideRight, static_cast<int>(box.width()) - 4));
    }
}

/// Paints a rail below the cells, for all quantities: rows that differ from a rebuild.
void MapCanvas::paintStale(QPainter& painter, const Parts& p, const Theme& theme) const {
  const ColourTable colours = colourTable(Quantity::Staleness, theme);
  const ColourScale scale = scaleFor(Quantity::Staleness, {});
  const auto [begin, end] = axis().inSight();
  const auto before = [](const StaleRun& run, int position) { return run.end <= position; };
  const auto& runs = m_picture->stale;
  double drawn = -1;  // runs that share a pixel are drawn once
  for (auto run = std::lower_bound(runs.begin(), runs.end(), begin, before); run != runs.end() && run->begin < end;
       ++run) {
    const double left = std::max(0.0, std::floor(axis().pixel(run->begin)));
    const double right = std::min<double>(p.cells.width(), std::max(left + 1, std::ceil(axis().pixel(run->end))));
    if (right <= drawn) continue;
    drawn = right;
    const QColor colour(colours[scale.index(static_cast<float>(run->why))]);
    painter.fillRect(QRectF(p.cells.left() + left, p.cells.bottom() + 3, right - left, 3), colour);
  }
}

void MapCanvas::paintMarks(QPainter& painter, const Parts& p, const Theme& theme) const {
  const auto [begin, end] = axis().inSight();
  painter.setRenderHint(QPainter::Antialiasing);
  const auto mark = [&](std::int32_t position, bool filled) {
    const double middle = p.cells.left() + axis().pixel(position + 0.5);
    const double tip = p.cells.top() - 1;
    const double half = std::clamp(axis().scale / 2.5, 2.5, 4.5);
    const QPolygonF shape({{middle - half, tip - half - 1}, {middle + half, tip - half - 1}, {middle, tip}});
    painter.setPen(QPen(theme.warning, 1));
    painter.setBrush(filled ? QBrush(theme.warning) : QBrush(theme.surface));
    painter.drawPolygon(shape);
  };
  double last = -1e9;
  const auto each = [&](const std::vector<std::int32_t>& list, bool filled) {
    last = -1e9;
    for (auto it = std::lower_bound(list.begin(), list.end(), begin); it != list.end() && *it < end; ++it) {
      const double x = axis().pixel(*it);
      if (x - last < 2) continue;  // overlapping marks are drawn once
      last = x;
      mark(*it, filled);
    }
  };
  each(m_picture->edited, true);
  each(m_picture->pending, false);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

/// A finding without a layer marks the row in all of them, one without a row the whole layer.
void MapCanvas::paintWrong(QPainter& painter, const Parts& p, const Theme& theme) const {
  const auto [begin, end] = axis().inSight();
  for (const FindingMark& one : m_picture->findings.all()) {
    const int first = one.layer ? one.layer->value() : 0, last = one.layer ? first + 1 : layers();
    if (first < 0 || last > layers() || (!one.layer && one.row.value() < 0)) continue;
    if (one.row.value() >= 0 && (one.position < begin || one.position >= end)) continue;
    const QRectF row =
        one.position < 0 ? QRectF(p.cells.left() + 3, 0, p.cells.width() - 6, 0) : cell(p, 0, one.position);
    paintFinding(painter, QRectF(row.left(), layerTop(p, first), row.width(), layerTop(p, last) - layerTop(p, first)),
                 theme);
  }
}

void MapCanvas::paintCrossHair(QPainter& painter, const Parts& p, const Theme& theme) const {
  const auto outline = [&](const QRectF& box, const QColor& colour, int wide) {
    paintOutline(painter,
                 QRectF(std::round(box.left()), box.top(), std::max(3.0, std::round(box.width())), box.height()),
                 colour, wide, theme);
  };
  const Position under = context().hovered();
  if (under.value() >= 0) {
    const QRectF top = cell(p, 0, under.value());
    painter.fillRect(QRectF(top.left(), p.ruler.bottom() + 1, top.width(), p.cells.bottom() - p.ruler.bottom()),
                     Theme::faded(theme.hover, 30));
    if (hovered().line >= 0) outline(cell(p, hovered().line, under.value()), theme.hover, 1);
  }
  const Focus& focus = context().focus();
  if (focus.position.value() < 0 || focus.position.value() >= m_picture->cells.positions()) return;
  const QRectF column = cell(p, 0, focus.position.value());
  outline(QRectF(column.left(), p.cells.top(), column.width(), p.cells.height()), Theme::faded(theme.focus, 150), 1);
  if (focus.layer.value() < layers()) outline(cell(p, focus.layer.value(), focus.position.value()), theme.focus, 2);
  const double middle = column.center().x();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.focus);
  painter.drawPolygon(QPolygonF(
      {{middle - 5, p.ruler.bottom() - 5.0}, {middle + 5, p.ruler.bottom() - 5.0}, {middle, p.ruler.bottom() + 0.5}}));
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void MapCanvas::paintOverview(QPainter& painter, const Parts& p, const Theme& theme) {
  const double dpr = painter.deviceTransform().m11();
  const QSize size(static_cast<int>(std::lround(p.overview.width() * dpr)), 1);
  if (m_overview.width() != size.width()) {
    m_overview = QImage(size, QImage::Format_RGB32);
    const ColourTable colours = colourTable(m_picture->scale.quantity, theme);
    std::vector<std::uint8_t> best(at(size.width())), line(best.size());
    for (int l = 0; l < layers(); ++l) {
      m_picture->cells.line(l, 0, size.width() / std::max(1.0, axis().count), line);
      for (std::size_t x = 0; x < best.size(); ++x) best[x] = std::max(best[x], line[x]);
    }
    for (std::size_t x = 0; x < best.size(); ++x) m_overview.setPixel(static_cast<int>(x), 0, colours[best[x]]);
  }
  painter.drawImage(p.overview, m_overview);
  const double perItem = p.overview.width() / std::max(1.0, axis().count);
  const double left = p.overview.left() + axis().first * perItem, wide = std::max(6.0, axis().visible() * perItem);
  const QColor shade = Theme::faded(theme.surface, 170);
  painter.fillRect(QRectF(p.overview.left(), p.overview.top(), left - p.overview.left(), p.overview.height()), shade);
  painter.fillRect(QRectF(left + wide, p.overview.top(), p.overview.right() + 1 - left - wide, p.overview.height()),
                   shade);
  for (const FindingMark& one : m_picture->findings.all())
    if (one.position >= 0)
      painter.fillRect(
          QRectF(p.overview.left() + one.position * perItem - 1, p.overview.top() - 3, 3, p.overview.height() + 6),
          theme.error);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(theme.focus);
  painter.drawRect(QRectF(std::round(left), p.overview.top() - 1, std::round(wide) - 1, p.overview.height() + 1));
}

QString MapCanvas::readout() const {
  if (!m_picture) return {};
  const bool hovering = hovered().line >= 0 && context().hovered().value() >= 0;
  const int position = hovering ? context().hovered().value() : context().focus().position.value();
  const CacheLayer layer = hovering ? CacheLayer(hovered().line) : context().focus().layer;
  const Snapshot& s = *m_picture->snapshot;
  const Tile& tile = *m_picture->tile;
  if (position < 0) return ghostText(s, context().focus());
  if (position >= tile.positions || position >= s.length() || layer.value() >= tile.layers) return {};
  const LedgerId id = s.context[at(position)];
  const float value = tile.values[at(layer) * at(tile.positions) + at(position)];
  const Quantity quantity = m_picture->scale.quantity;
  QStringList parts{hovering ? tr("under pointer") : tr("focus"), tr("position %1").arg(position), tokenText(s, id),
                    tr("ledger %1").arg(id.value()), tr("layer %1").arg(layerText(s, layer))};
  parts << (std::isnan(value) || leftThroughWindow(s, layer, id)
                ? noValueText(s, id, layer, titleInText(quantity))
                : titleInText(quantity) + " " + valueText(quantity, value));
  const auto place = at(position);
  if (m_picture->findings.of(id, layer)) parts << m_picture->findings.text(id, layer);
  if (quantity != Quantity::Staleness && s.exactness && place < s.exactness->size() &&
      (*s.exactness)[place] != Exactness::Exact)
    parts << valueText(Quantity::Staleness, static_cast<float>((*s.exactness)[place]));
  if (const QString queued = m_picture->ghosts.text(s, layer, position); !queued.isEmpty()) parts << queued;
  if (s.ledger.contains(id)) {
    const LedgerRow& row = s.ledger[id];
    parts << tr("born in tick %1 (%2)").arg(row.born.value()).arg(QString::fromUtf8(name(row.source).data()));
    if (row.state != RowState::Live) parts << QString::fromUtf8(name(row.state).data());
  }
  return parts.join("   ");
}

}  // namespace kvlab
