// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in map_paint.cpp.
#include "widgets/views/map/map_canvas.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {
constexpr int kGutter = 34, kRight = 10, kRuler = 22, kOverview = 12;
constexpr int kTallLayer = 64, kTallTokens = 78, kFlatTokens = 26, kLeastLayer = 20, kMostRows = 160;
}  // namespace

MapCanvas::MapCanvas(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, 90);
  setAccessibleName(tr("Map of the cache"));
  setToolTip(tr("Click focuses a cell, the wheel zooms, dragging pans, a double click shows the whole context"));
}

void MapCanvas::setPicture(std::shared_ptr<const MapPicture> picture) {
  m_picture = std::move(picture);
  m_overview = QImage();
  place();
}

void MapCanvas::setNote(const QString& note) {
  m_note = note;
  update();
}

double MapCanvas::tokenBand() const {
  const int band = axis().scale < kWideScale ? kTallTokens : kFlatTokens;
  const int rows = std::min(kMostRows, kLeastLayer * layers());  // height that the rows need beside the texts
  return axis().scale < kTokenScale || height() < kRuler + band + rows + kReadout ? 0 : band;
}

MapCanvas::Parts MapCanvas::parts() const {
  Parts p;
  const int width = std::max(1, this->width() - kGutter - kRight);
  const bool overview = !axis().fitted;
  const int band = static_cast<int>(tokenBand());
  p.ruler = QRect(kGutter, 0, width, kRuler);
  p.tokens = QRect(kGutter, kRuler, width, band);
  p.readout = QRect(0, height() - kReadout, this->width(), kReadout);
  const int top = kRuler + band + Theme::kSmall;
  const int below = p.readout.top() - Theme::kMedium - (overview ? kOverview + Theme::kMedium : 0);
  const int room = std::max(1, below - top);
  p.layerHeight = std::min<double>(kTallLayer, static_cast<double>(room) / std::max(1, layers()));
  if (p.layerHeight > 3) p.layerHeight = std::floor(p.layerHeight);
  p.cells = QRect(kGutter, top, width, static_cast<int>(std::lround(p.layerHeight * layers())));
  p.overview = overview ? QRect(kGutter, p.readout.top() - Theme::kMedium - kOverview, width, kOverview) : QRect();
  return p;
}

int MapCanvas::layerTop(const Parts& p, int layer) const {
  return p.cells.top() + static_cast<int>(std::lround(p.layerHeight * layer));
}

int MapCanvas::layerAt(int y) const {
  const Parts p = parts();
  if (!p.cells.contains(p.cells.left(), y) || p.layerHeight <= 0) return -1;
  return std::clamp(static_cast<int>((y - p.cells.top()) / p.layerHeight), 0, layers() - 1);
}

QRectF MapCanvas::cell(const Parts& p, int layer, int position) const {
  const double left = p.cells.left() + std::ceil(axis().pixel(position) - 1e-6);
  const int top = layerTop(p, layer);
  return {left, static_cast<double>(top), std::max(1.0, axis().scale),
          static_cast<double>(layerTop(p, layer + 1) - top)};
}

/// Ruler and token texts above the cells are positions without a layer.
CanvasCell MapCanvas::cellAt(QPoint point) const {
  const QRect cells = parts().cells;
  const int position = point.x() < kGutter || point.y() > cells.bottom() ? -1 : axis().at(point.x() - kGutter);
  return {position < 0 ? -1 : layerAt(point.y()), position};
}

CanvasCell MapCanvas::focusCell() const {
  return {context().focus().layer.value(), context().focus().position.value()};
}

void MapCanvas::choose(CanvasCell cell) { emit clicked(CacheLayer(cell.line), Position(cell.item), choice()); }

void MapCanvas::menuAbout(CanvasCell cell) {
  if (cell.item >= 0) emit pointed(CacheLayer(std::max(0, cell.line)), Position(cell.item));
}

/// Findings of checks on a cell, else of its layer.
QString MapCanvas::tipOf(CanvasCell cell) const {
  if (!m_picture || m_picture->findings.empty() || cell.line < 0 || cell.item < 0) return {};
  const Snapshot& s = *m_picture->snapshot;
  const CacheLayer layer(cell.line);
  const LedgerId row = cell.item < s.length() ? s.context[at(cell.item)] : LedgerId(-1);
  return m_picture->findings.of(row, layer) ? m_picture->findings.text(row, layer) : m_picture->findings.text(layer);
}

QRect MapCanvas::rowRect(Position position) const {
  const Parts p = parts();
  const int layer = std::clamp(context().focus().layer.value(), 0, std::max(0, layers() - 1));
  return cell(p, layer, position.value()).toAlignedRect().intersected(p.cells);
}

}  // namespace kvlab
