// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/map/map_canvas.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"
#include "widgets/canvas/measured_by.h"

namespace kvlab {
namespace {
std::vector<std::int32_t> editedPositions(const Snapshot& s) {
  std::vector<std::int32_t> out;
  for (std::size_t p = 0; p < s.context.size(); ++p) {
    if (!s.ledger.contains(s.context[p])) continue;
    const Source source = s.ledger[s.context[p]].source;
    if (source == Source::Replacement || source == Source::Insertion) out.push_back(static_cast<std::int32_t>(p));
  }
  return out;
}

/// Positions that leave, or before which rows come.
std::vector<std::int32_t> changedPositions(const PlanGhosts& ghosts, std::int32_t length) {
  std::vector<std::int32_t> out = ghosts.leaving;
  for (const PlanGhosts::Added& one : ghosts.added)
    if (one.before < length) out.push_back(one.before);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

constexpr double kLeastMark = 5;  // a ghost is never narrower, whatever the zoom
constexpr int kHatch = 5;
}  // namespace

std::vector<StaleRun> staleRuns(const Snapshot& s) {
  std::vector<StaleRun> runs;
  if (!s.exactness) return runs;
  for (std::size_t p = 0; p < s.exactness->size(); ++p) {
    const Exactness why = (*s.exactness)[p];
    const auto at = static_cast<std::int32_t>(p);
    if (why == Exactness::Exact) continue;
    if (!runs.empty() && runs.back().end == at && runs.back().why == why) ++runs.back().end;
    else runs.push_back({at, at + 1, why});
  }
  return runs;
}

std::shared_ptr<const MapPicture> makeMapPicture(SnapshotPtr snapshot, std::shared_ptr<const Tile> tile,
                                                 const ScaleChoice& choice) {
  auto picture = std::make_shared<MapPicture>();
  picture->colours = tileColours(*tile, *snapshot, choice);
  picture->edited = editedPositions(*snapshot);
  picture->ghosts = planGhosts(*snapshot);
  picture->pending = changedPositions(picture->ghosts, snapshot->length());
  picture->stale = staleRuns(*snapshot);
  picture->findings = FindingMarks(*snapshot);
  picture->tile = std::move(tile);
  picture->snapshot = std::move(snapshot);
  return picture;
}

std::shared_ptr<const Tile> tileFromSnapshot(const Snapshot& s, Quantity quantity) {
  if (quantity != Quantity::Residency && quantity != Quantity::Age && quantity != Quantity::Staleness) return nullptr;
  auto tile = std::make_shared<Tile>();
  tile->request.quantity = quantity;
  tile->tick = s.tick;
  tile->layers = static_cast<int>(s.layers.size());
  tile->positions = s.length();
  const auto valueAt = [&](std::size_t p) {
    if (quantity == Quantity::Residency) return 1.0f;
    if (quantity == Quantity::Age) return static_cast<float>(s.tick.value() - s.ledger[s.context[p]].born.value());
    return s.exactness && p < s.exactness->size() ? static_cast<float>((*s.exactness)[p]) : NAN;
  };
  for (std::size_t layer = 0; layer < s.layers.size(); ++layer) {
    const std::vector<bool> here = heldRows(s, CacheLayer(static_cast<int>(layer)));
    for (std::size_t p = 0; p < s.context.size(); ++p) {
      tile->values.push_back(here[p] ? valueAt(p) : quantity == Quantity::Residency ? 0.0f : NAN);
    }
  }
  return tile;
}

MapCanvas::MapCanvas(InspectorContext& context, QWidget* parent) : MatrixCanvas(context, parent) {
  setAccessibleName(tr("Map of the cache"));
  setToolTip(tr("Click focuses a cell, the wheel zooms, dragging pans, a double click shows the whole context"));
}

void MapCanvas::setPicture(std::shared_ptr<const MapPicture> picture) {
  m_picture = std::move(picture);
  setFindings(m_picture ? m_picture->findings : FindingMarks());
  changed();
}

void MapCanvas::setNote(const QString& note) {
  m_note = note;
  update();
}

MatrixShape MapCanvas::shape() const {
  return {.tokens = axis().scale < kWideScale ? 78 : 26,
          .leastRoom = std::min(160, 20 * lines()),
          .overview = !axis().fitted};
}

MatrixCanvas::Cells MapCanvas::cells(const Theme& theme) const {
  return {&m_picture->colours.cells, colourTable(m_picture->quantity(), theme)};
}

QString MapCanvas::lineName(int line) const { return layerText(*m_picture->snapshot, CacheLayer(line)); }

QString MapCanvas::cellText(CanvasCell cell) const {
  return shortValueText(m_picture->quantity(), m_picture->value(cell.line, cell.item));
}

QString MapCanvas::hint() const {
  return tr("click a cell to focus it; wheel zooms, dragging pans, double click shows all");
}

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

/// Paints the queue's effects: rows that go are struck out in the layers that lose them, rows that come stand between
/// their neighbours, and the rail below the cells is hatched where rows go stale.
void MapCanvas::paintGhosts(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  const auto [begin, end] = axis().inSight();
  for (const PositionRun& run : m_picture->ghosts.stale) {
    if (run.end <= begin || run.begin >= end) continue;
    const double left = std::max(0.0, std::floor(axis().pixel(run.begin)));
    const double right = std::min<double>(p.cells.width(), std::max(left + 2, std::ceil(axis().pixel(run.end))));
    paintHatch(painter, QRectF(p.cells.left() + left, p.cells.bottom() + 3, right - left, kHatch), theme);
  }
  paintLeaving(painter, p, theme);
  paintAdded(painter, p, theme);
}

void MapCanvas::paintLeaving(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  const auto [begin, end] = axis().inSight();
  const auto strike = [&](int layer, std::int32_t first, std::int32_t last) {
    const QRectF from = cellBox(p, {layer, first}), to = cellBox(p, {layer, last});
    const double more = std::max(0.0, kLeastMark - (to.right() - from.left())) / 2;
    paintStrike(painter, {from.left() - more, from.center().y(), to.right() + more, from.center().y()}, theme);
  };
  const std::vector<std::int32_t>& all = m_picture->ghosts.leaving;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t next = i + 1;
    while (next < all.size() && all[next] == all[next - 1] + 1) ++next;
    const std::int32_t first = std::max(all[i], begin), last = std::min(all[next - 1], end - 1);
    for (int layer = 0; first <= last && layer < lines(); ++layer) strike(layer, first, last);
    i = next;
  }
  for (const PlanGhosts::Evicted& one : m_picture->ghosts.evicted)
    if (one.layer.value() < lines() && one.position >= begin && one.position < end)
      strike(one.layer.value(), one.position, one.position);
}

void MapCanvas::paintAdded(QPainter& painter, const MatrixParts& p, const Theme& theme) const {
  painter.setRenderHint(QPainter::Antialiasing);
  const double wide = std::clamp(axis().scale / 2, kLeastMark, 14.0);
  for (const PlanGhosts::Added& one : m_picture->ghosts.added) {
    const double edge = axis().pixel(one.before);
    if (edge < -wide || edge > p.cells.width() + wide) continue;
    const double left = p.cells.left() + std::clamp(edge - wide / 2, 1.0, p.cells.width() - wide - 1);
    paintNew(painter, QRectF(left, p.cells.top() + 0.5, wide, p.cells.height() - 1), theme);
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
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
  const auto each = [&](const std::vector<std::int32_t>& list, bool filled) {
    double last = -1e9;
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
  const float value = m_picture->value(layer.value(), position);
  const Quantity quantity = m_picture->quantity();
  QStringList parts{points() ? tr("under pointer") : tr("focus"), tr("position %1").arg(position), tokenText(s, id),
                    tr("ledger %1").arg(id.value()), tr("layer %1").arg(layerText(s, layer))};
  parts << (std::isnan(value) || leftThroughWindow(s, layer, id)
                ? noValueText(s, id, layer, quantity, titleInText(quantity))
                : titleInText(quantity) + " " + valueText(quantity, value));
  const auto place = at(position);
  if (m_picture->findings.of(id, layer)) parts << m_picture->findings.text(id, layer);
  if (quantity != Quantity::Staleness && s.exactness && place < s.exactness->size() &&
      (*s.exactness)[place] != Exactness::Exact)
    parts << valueText(Quantity::Staleness, static_cast<float>((*s.exactness)[place]));
  if (const QString queued = m_picture->ghosts.text(s, layer, position); !queued.isEmpty()) parts << queued;
  if (s.ledger.contains(id)) {
    const LedgerRow& row = s.ledger[id];
    parts << tr("born in tick %1 (%2)").arg(row.born.value()).arg(wordOf(name(row.source)));
    if (row.state != RowState::Live) parts << wordOf(name(row.state));
  }
  return parts.join("   ");
}

}  // namespace kvlab
