// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/map/map_canvas.h"

#include <algorithm>

#include "widgets/base/layer_text.h"

namespace kvlab {

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
  const Tile& tile = *m_picture->tile;
  return shortValueText(m_picture->quantity(), tile.values[at(cell.line) * at(tile.positions) + at(cell.item)]);
}

QString MapCanvas::hint() const {
  return tr("click a cell to focus it; wheel zooms, dragging pans, double click shows all");
}

}  // namespace kvlab
