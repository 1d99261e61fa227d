// SPDX-License-Identifier: GPL-3.0-or-later
// The painted part of the map: a ruler of positions, token texts, the cells as one blit of an index
// image, marks of edits, the focused and the hovered cell, an overview of the whole context and a
// line that reads out the cell under the pointer. Owned by MapView. GUI thread. Distances in
// device-independent pixels unless they are said to be device pixels.
#pragma once
#include <QImage>
#include <QWidget>
#include <memory>
#include <vector>

#include "widgets/base/inspector_context.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/axis_map.h"
#include "widgets/canvas/axis_parts.h"
#include "widgets/views/map/map_picture.h"

namespace kvlab {

class MapCanvas : public QWidget {
  Q_OBJECT
 public:
  MapCanvas(InspectorContext& context, QWidget* parent);

  void setPicture(std::shared_ptr<const MapPicture> picture);
  const MapPicture* picture() const { return m_picture.get(); }
  /// A remark at the right of the readout line, e.g. that values are from another tick.
  void setNote(const QString& note);
  const AxisMap& axis() const { return m_axis; }
  void fit();
  void zoomBy(double factor);
  void showRange(int begin, int end);
  void revealFocus();
  /// Text of the readout line.
  QString readout() const;

 signals:
  void clicked(kvlab::Layer layer, kvlab::Position position);
  void zoomChanged();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;

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
  void place();
  void hoverAt(QPoint point);
  void moveFocus(int layers, int positions);
  void overviewTo(int x);

  void paintCells(QPainter& painter, const Parts& parts, const Theme& theme);
  void paintLayerNames(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintCellTexts(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintStale(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintMarks(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintCrossHair(QPainter& painter, const Parts& parts, const Theme& theme) const;
  void paintOverview(QPainter& painter, const Parts& parts, const Theme& theme);
  double tokenBand() const;

  InspectorContext& m_context;
  std::shared_ptr<const MapPicture> m_picture;
  AxisMap m_axis;
  QString m_note;
  QImage m_cells, m_overview;  // blits in device pixels; null = must be made again
  QSize m_cellsFor;
  bool m_cellsDark = true;
  Layer m_hoverLayer{-1};
  AxisDrag m_drag;
  bool m_onOverview = false;
};

}  // namespace kvlab
