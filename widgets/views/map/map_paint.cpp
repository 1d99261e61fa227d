// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the map's parts beside its cells: stale rows, edits, and its readout.
#include <QPainter>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"
#include "widgets/views/map/map_canvas.h"

namespace kvlab {

/// Stale rows, then the effects of the queue, then edits.
void MapCanvas::paintOver(QPainter& painter, const MatrixParts& p, const Theme& theme) {
  paintStale(painter, p, theme);
  paintGhosts(painter, p, theme);
  paintMarks(painter, p, theme);
}

/// Paints a rail below the cells, for all quantities: rows that differ from a rebuild.
void MapCanvas::paintStale(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
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

void MapCanvas::paintMarks(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
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

QString MapCanvas::readout() const {
  if (!m_picture) return {};
  const int position = points() ? hovered().item : context().focus().position.value();
  const CacheLayer layer = points() ? CacheLayer(hovered().line) : context().focus().layer;
  const Snapshot& s = *m_picture->snapshot;
  const Tile& tile = *m_picture->tile;
  if (position < 0) return ghostText(s, context().focus());
  if (position >= tile.positions || position >= s.length() || layer.value() >= tile.layers) return {};
  const LedgerId id = s.context[at(position)];
  const float value = tile.values[at(layer) * at(tile.positions) + at(position)];
  const Quantity quantity = m_picture->quantity();
  QStringList parts{points() ? tr("under pointer") : tr("focus"), tr("position %1").arg(position), tokenText(s, id),
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
