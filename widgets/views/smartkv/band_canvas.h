// SPDX-License-Identifier: GPL-3.0-or-later
// Layers above each other, tokens of the context to the right: rows coloured by their policy's score, gaps where
// rows have left, and under each layer its bands. Where tokens share a pixel, the highest score colours it and
// the fill is as tall as their resident part. Owned by the SmartKV view. GUI thread. Device-independent pixels.
#pragma once
#include <QAbstractScrollArea>

#include "widgets/base/inspector_context.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/axis_map.h"
#include "widgets/views/smartkv/band_rows.h"

class QPainter;

namespace kvlab {

class BandCanvas : public QAbstractScrollArea {
  Q_OBJECT
 public:
  BandCanvas(InspectorContext& context, QWidget* parent);
  void show(SnapshotPtr snapshot, std::vector<BandRows> layers);
  const std::vector<BandRows>& layers() const { return m_layers; }
  QString readout() const;
  /// The middle of a cell, in the viewport.
  QPointF cellAt(int layer, int position) const;
  void zoom(double factor);
  /// Scrolls so that the focused layer and position are in sight.
  void reveal();

 signals:
  void clicked(kvlab::Layer layer, kvlab::Position position);
  void readoutChanged();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  struct Column {
    float score = 0;  // not-a-number: none is known
    float there = 0;  // resident part, 0..1
    Band band = Band::Gone;
  };
  void arrange();
  int lineHeight() const;
  QRect area() const;  // of all strips, without gutters
  QRectF lineRect(int layer) const;
  int layerAt(double y) const;
  std::vector<int> legendWidths() const;
  int swatchOf(qsizetype entry) const;
  QStringList legendTexts() const;
  QRect legendRect() const;
  const std::vector<Column>& columnsOf(std::size_t layer);
  void step(int layers, int positions);

  void paintLine(QPainter& painter, std::size_t layer, const Theme& theme);
  void paintBands(QPainter& painter, const BandRows& rows, const QRectF& line, const Theme& theme) const;
  void paintContests(QPainter& painter, const BandRows& rows, const QRectF& line, const Theme& theme) const;
  void paintFocus(QPainter& painter, const Theme& theme) const;
  void paintAxis(QPainter& painter, const Theme& theme) const;
  void paintLegend(QPainter& painter, const Theme& theme) const;

  InspectorContext& m_context;
  SnapshotPtr m_snapshot;
  std::vector<BandRows> m_layers;
  std::vector<std::vector<Column>> m_columns;  // [layers][pixels], empty until painted
  AxisMap m_axis;
  int m_hoverLayer = -1;
};

}  // namespace kvlab
