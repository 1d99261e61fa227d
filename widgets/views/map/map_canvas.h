// SPDX-License-Identifier: GPL-3.0-or-later
// The painted part of the map: a ruler of positions, token texts, the cells as one blit of an index image, marks of
// edits, the focused and the hovered cell, an overview of the whole context, and a readout of the cell under the
// pointer. Owned by MapView. GUI thread. Distances are in device-independent pixels unless marked as device pixels.
#pragma once
#include <QImage>
#include <memory>
#include <vector>

#include "widgets/canvas/axis_canvas.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/map/map_picture.h"

namespace kvlab {

class MapCanvas : public AxisCanvas {
  Q_OBJECT
 public:
  MapCanvas(InspectorContext& context, QWidget* parent);

  void setPicture(std::shared_ptr<const MapPicture> picture);
  const MapPicture* picture() const { return m_picture.get(); }
  /// Sets a note at the right of the readout, e.g. that values are from another tick.
  void setNote(const QString& note);
  QString note() const { return m_note; }
  QString readout() const override;
  /// Place of a row in the focused layer, for a line to type in.
  QRect rowRect(Position position) const;

 signals:
  void clicked(kvlab::CacheLayer layer, kvlab::Position position, kvlab::InspectorContext::Choice choice);
  /// The menu is about to open over a row.
  void pointed(kvlab::CacheLayer layer, kvlab::Position position);

 protected:
  void paintContent(QPainter& painter, const Theme& theme) override;
  CanvasCell cellAt(QPoint point) const override;
  CanvasCell focusCell() const override;
  void choose(CanvasCell cell) override;
  void menuAbout(CanvasCell cell) override;
  int lines() const override { return layers(); }
  int items() const override { return m_picture ? m_picture->cells.positions() : 0; }
  QRect axisArea() const override { return parts().cells; }
  QRect overviewArea() const override { return parts().overview; }
  void axisMoved() override { m_cells = QImage(); }
  QString tipOf(CanvasCell cell) const override;

 private:
  struct Parts {
    QRect ruler, tokens, cells, overview, readout;
    double layerHeight = 0;
  };
  Parts parts() const;
  int layers() const { return m_picture ? m_picture->cells.layers() : 0; }
  int layerAt(int y) const;
  int layerTop(const Parts& parts, int layer) const;
  QRectF cell(const Parts& parts, int layer, int position) const;

  void paintCells(QPainter& painter, const Parts& parts, const Theme& theme);
  void paintLayerNames(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintCellTexts(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintStale(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintGhosts(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintLeaving(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintAdded(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintMarks(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintWrong(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintCrossHair(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintOverview(QPainter& painter, const Parts& parts, const Theme& theme);
  double tokenBand() const;

  std::shared_ptr<const MapPicture> m_picture;
  QString m_note;
  QImage m_cells, m_overview;  // blits in device pixels; null = outdated
  QSize m_cellsFor;
  bool m_cellsDark = true;
};

}  // namespace kvlab
