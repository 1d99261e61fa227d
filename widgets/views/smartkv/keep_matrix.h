// SPDX-License-Identifier: GPL-3.0-or-later
// All layers and KV heads at once, a cell for each: the share of the context that it keeps, and below that its
// threshold, the lowest score that keeps a place in its budget. Layers go to the right, KV heads down. A click chooses
// a layer. Owned by the view Policy. GUI thread. Device-independent pixels.
#pragma once
#include <QWidget>
#include <optional>

#include "widgets/views/smartkv/band_canvas.h"

namespace kvlab {

class KeepMatrix : public QWidget {
  Q_OBJECT
 public:
  explicit KeepMatrix(QWidget* parent);
  /// length: tokens of the context; focus: the layer to mark.
  void show(const CacheLayers& layers, std::int32_t length, const std::vector<BandRows>& rows, CacheLayer focus);
  /// "layer 3.1 keeps 64 of 1448 rows (4.4 %); threshold 0.05"
  QString text(CacheLayer layer) const;
  QPoint middleOf(CacheLayer layer) const;
  QSize sizeHint() const override;

 signals:
  void chosen(kvlab::CacheLayer layer);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Cell {
    std::int32_t rows = 0;
    float lowest = 0;  // NaN = unknown
  };
  QRectF box(CacheLayer layer, int block) const;
  std::optional<CacheLayer> layerAt(QPointF point) const;
  void paintBlock(QPainter& painter, int block, const QString& name) const;
  QColor colour(const Cell& cell, int block) const;

  CacheLayers m_layers;
  std::vector<Cell> m_cells;  // [cache layers]
  std::int32_t m_length = 0;
  CacheLayer m_focus{0};
  float m_low = 0, m_high = 0;  // of the known thresholds
};

}  // namespace kvlab
