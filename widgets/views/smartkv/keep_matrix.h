// SPDX-License-Identifier: GPL-3.0-or-later
// All layers and KV heads at once, a cell for each: the share of the context that it keeps, and below that its
// threshold, the lowest score that keeps a place in its budget. Layers go to the right, KV heads down. Where the error
// of attention was measured, a third block has it, a line for each query head. A click chooses a layer. Owned by the
// view Policy. GUI thread. Device-independent pixels.
#pragma once
#include <QWidget>
#include <memory>
#include <optional>

#include "widgets/views/smartkv/band_canvas.h"

namespace kvlab {

class KeepMatrix : public QWidget {
  Q_OBJECT
 public:
  explicit KeepMatrix(QWidget* parent);
  /// length: tokens of the context; focus: the layer to mark; errors: of attention, null = not measured.
  void show(const CacheLayers& layers, std::int32_t length, const std::vector<BandRows>& rows, CacheLayer focus,
            std::shared_ptr<const AttentionErrors> errors);
  /// "layer 3.1 keeps 64 of 1448 rows (4.4 %); threshold 0.05"
  QString text(CacheLayer layer) const;
  /// "layer 3, query head 1: attention error 0.12"
  QString errorText(Layer layer, int head) const;
  /// "0: 0.12 0.3", a line for each layer; empty where nothing was measured.
  QString errorLines() const;
  QPoint middleOf(CacheLayer layer) const;
  QPoint middleOf(Layer layer, int head) const { return box(layer, head, kErrors).center().toPoint(); }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

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
  static constexpr int kErrors = 2;  // block of the errors, below what is kept and the thresholds
  /// A cell under the pointer: line = KV head with rows of its own, or query head of the errors.
  struct Place {
    Layer layer;
    int line = 0, block = 0;
  };
  int blocks() const { return m_errors ? kErrors + 1 : kErrors; }
  int linesOf(int block) const;
  double tallOf(int block) const;
  QRectF box(Layer layer, int line, int block) const;
  QRectF box(CacheLayer layer, int block) const { return box(m_layers.layerOf(layer), m_layers.partOf(layer), block); }
  std::optional<Place> placeAt(QPointF point) const;
  CacheLayer layerOf(const Place& place) const;
  void paintBlock(QPainter& painter, int block, const QString& name) const;
  void paintErrors(QPainter& painter) const;
  void paintName(QPainter& painter, int block, const QString& name) const;
  QColor colour(const Cell& cell, int block) const;

  CacheLayers m_layers;
  std::vector<Cell> m_cells;  // [cache layers]
  std::shared_ptr<const AttentionErrors> m_errors;
  std::int32_t m_length = 0;
  CacheLayer m_focus{0};
  float m_low = 0, m_high = 0;  // of the known thresholds
  float m_worst = 0;            // of the errors
};

}  // namespace kvlab
