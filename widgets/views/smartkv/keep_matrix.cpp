// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/keep_matrix.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "widgets/base/theme.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {
namespace {
constexpr int kBlocks = 2;  // kept, threshold
constexpr int kNames = 66;  // pixels left of the cells
constexpr int kNumbers = 15;
constexpr int kWidestCell = 34;
}  // namespace

KeepMatrix::KeepMatrix(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Rows kept and threshold of every layer and KV head"));
  setToolTip(
      tr("A cell for each layer, and below it for each KV head that has rows of its own: the share of the context that "
         "is kept, and the lowest score that keeps a place. Click chooses the layer"));
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void KeepMatrix::show(const CacheLayers& layers, std::int32_t length, const std::vector<BandRows>& rows,
                      CacheLayer focus) {
  const int heads = m_layers.perLayer;
  m_layers = layers;
  m_length = length;
  m_focus = focus;
  m_cells.clear();
  m_low = m_high = NAN;
  for (const BandRows& one : rows) {
    m_cells.push_back({one.rows(), one.bounded ? one.lowest : NAN});
    if (!std::isfinite(m_cells.back().lowest)) continue;
    m_low = m_low <= one.lowest ? m_low : one.lowest;
    m_high = m_high >= one.lowest ? m_high : one.lowest;
  }
  if (heads != layers.perLayer) updateGeometry();
  update();
}

QSize KeepMatrix::sizeHint() const {
  const int tall = m_layers.perLayer > 1 ? std::clamp(90 / m_layers.perLayer, 4, 14) : 16;
  return {220, kBlocks * (tall * m_layers.perLayer + 4) + kNumbers + Theme::kSmall};
}

QString KeepMatrix::text(CacheLayer layer) const {
  if (at(layer) >= m_cells.size()) return {};
  const Cell& cell = m_cells[at(layer)];
  const QString kept = tr("layer %1 keeps %2 of %3 rows (%4 %)")
                           .arg(QString::fromStdString(m_layers.name(layer)))
                           .arg(cell.rows)
                           .arg(m_length)
                           .arg(m_length ? 100.0 * cell.rows / m_length : 0.0, 0, 'g', 3);
  if (!std::isfinite(cell.lowest)) return tr("%1; no threshold is known").arg(kept);
  return tr("%1; threshold %2").arg(kept).arg(static_cast<double>(cell.lowest), 0, 'g', 3);
}

QRectF KeepMatrix::box(CacheLayer layer, int block) const {
  const int heads = m_layers.perLayer, count = std::max(1, m_layers.layers);
  const double wide = std::min<double>(kWidestCell, (width() - kNames - Theme::kMedium) / static_cast<double>(count));
  const double tall = (height() - kNumbers - Theme::kSmall) / static_cast<double>(kBlocks) - 4;
  const double each = tall / heads;
  return {kNames + wide * m_layers.layerOf(layer).value(),
          Theme::kSmall + block * (tall + 4) + each * m_layers.partOf(layer), wide, each};
}

QPoint KeepMatrix::middleOf(CacheLayer layer) const { return box(layer, 0).center().toPoint(); }

std::optional<CacheLayer> KeepMatrix::layerAt(QPointF point) const {
  for (std::size_t i = 0; i < m_cells.size(); ++i)
    for (int block = 0; block < kBlocks; ++block)
      if (const auto layer = CacheLayer(static_cast<std::int32_t>(i)); box(layer, block).contains(point)) return layer;
  return {};
}

/// Shares on a straight scale, thresholds on that of their logarithms where all are positive.
QColor KeepMatrix::colour(const Cell& cell, int block) const {
  const auto theme = Theme::current();
  if (block == 0) {
    const double share = m_length ? static_cast<double>(cell.rows) / m_length : 0;
    return Theme::mix(theme->sunken, theme->accent, 0.08 + 0.92 * std::min(1.0, share));
  }
  const auto place = [&](float score) {
    const double value = static_cast<double>(score);
    return m_low > 0 ? std::log(value) : value;
  };
  const double span = place(m_high) - place(m_low);
  return colourAt(colourTable(Quantity::Score, *theme), span > 0 ? (place(cell.lowest) - place(m_low)) / span : 1);
}

void KeepMatrix::paintBlock(QPainter& painter, int block, const QString& name) const {
  const auto theme = Theme::current();
  const QRectF first = box(CacheLayer(0), block);
  painter.setPen(theme->muted);
  painter.setFont(theme->small);
  painter.drawText(QRectF(Theme::kMedium, first.top(), kNames - Theme::kLarge, first.height() * m_layers.perLayer),
                   Qt::AlignVCenter | Qt::AlignLeft, name);
  for (std::size_t i = 0; i < m_cells.size(); ++i) {
    const QRectF cell = box(CacheLayer(static_cast<std::int32_t>(i)), block);
    const double gap = cell.width() > 6 ? 1 : 0;
    const bool known = block == 0 || std::isfinite(m_cells[i].lowest);
    painter.fillRect(cell.adjusted(0, 0, -gap, cell.height() > 5 ? -1 : 0),
                     known ? QBrush(colour(m_cells[i], block)) : missingBrush(*theme));
  }
  if (at(m_focus) >= m_cells.size()) return;
  painter.setPen(QPen(theme->focus, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(box(m_focus, block).adjusted(-0.5, -0.5, -0.5, -0.5));
}

void KeepMatrix::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const auto theme = Theme::current();
  painter.fillRect(rect(), theme->surface);
  if (m_cells.empty()) return;
  paintBlock(painter, 0, tr("kept"));
  paintBlock(painter, 1, tr("threshold"));
  painter.setPen(theme->muted);
  const double wide = box(CacheLayer(0), 0).width();
  const int step = std::max(1, static_cast<int>(std::ceil(22 / std::max(1.0, wide))));
  for (int layer = 0; layer < m_layers.layers; layer += step)
    painter.drawText(QRectF(kNames + wide * layer - 12, height() - kNumbers, wide + 24, kNumbers), Qt::AlignCenter,
                     QString::number(layer));
  painter.drawText(QRectF(Theme::kMedium, height() - kNumbers, kNames, kNumbers), Qt::AlignVCenter, tr("layer"));
}

void KeepMatrix::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
  if (const std::optional<CacheLayer> layer = layerAt(event->position())) emit chosen(*layer);
}

bool KeepMatrix::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const std::optional<CacheLayer> layer = layerAt(help->pos())) {
      QToolTip::showText(help->globalPos(), text(*layer), this);
      return true;
    }
  }
  return QWidget::event(event);
}

}  // namespace kvlab
