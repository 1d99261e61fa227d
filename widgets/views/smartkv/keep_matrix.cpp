// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/keep_matrix.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {
namespace {
constexpr int kNames = 66;  // pixels left of the cells
constexpr int kNumbers = 15;
constexpr int kWidestCell = 34;
}  // namespace

KeepMatrix::KeepMatrix(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Rows kept and threshold of every layer and KV head"));
  setToolTip(
      tr("A cell for each layer, and below it for each KV head that has rows of its own: the share of the context that "
         "is kept, and the lowest score that keeps a place. Run > Measure Attention Error adds the error of every "
         "query head. Click chooses the layer"));
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void KeepMatrix::show(const CacheLayers& layers, std::int32_t length, const std::vector<BandRows>& rows,
                      CacheLayer focus, std::shared_ptr<const AttentionErrors> errors) {
  const QSize before = sizeHint();
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
  m_errors = errors && at(layers.layers) == errors->size() && !errors->front().empty() ? std::move(errors) : nullptr;
  m_worst = 0;
  for (int layer = 0; m_errors && layer < layers.layers; ++layer)
    for (const float error : (*m_errors)[at(layer)])
      if (std::isfinite(error)) m_worst = std::max(m_worst, error);
  if (before != sizeHint()) updateGeometry();
  update();
}

int KeepMatrix::linesOf(int block) const {
  return block == kErrors ? static_cast<int>(m_errors->front().size()) : m_layers.perLayer;
}

/// Height of a block as it is wanted, without the gap below it.
double KeepMatrix::tallOf(int block) const {
  const int lines = linesOf(block);
  return lines > 1 ? std::clamp(90 / lines, 4, 14) * lines : 16;
}

QSize KeepMatrix::sizeHint() const {
  double tall = kNumbers + Theme::kSmall;
  for (int block = 0; block < blocks(); ++block) tall += tallOf(block) + 4;
  return {220, static_cast<int>(tall)};
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

QString KeepMatrix::errorText(Layer layer, int head) const {
  if (!m_errors || at(layer) >= m_errors->size() || at(head) >= (*m_errors)[at(layer)].size()) return {};
  return tr("layer %1, query head %2: attention error %3 of what all rows would give")
      .arg(layer.value())
      .arg(head)
      .arg(figureText(static_cast<double>((*m_errors)[at(layer)][at(head)])));
}

QString KeepMatrix::errorLines() const {
  QString out;
  for (int layer = 0; m_errors && layer < m_layers.layers; ++layer) {
    QStringList heads;
    for (const float error : (*m_errors)[at(layer)]) heads << figureText(static_cast<double>(error));
    out += QStringLiteral("%1: %2\n").arg(layer).arg(heads.join(QLatin1Char(' ')));
  }
  return out;
}

/// Blocks share the height as they want it.
QRectF KeepMatrix::box(Layer layer, int line, int block) const {
  const int count = std::max(1, m_layers.layers);
  const double wide = std::min<double>(kWidestCell, (width() - kNames - Theme::kMedium) / static_cast<double>(count));
  double wanted = 0, above = 0;
  for (int one = 0; one < blocks(); ++one) {
    if (one < block) above += tallOf(one);
    wanted += tallOf(one);
  }
  const double share = (height() - kNumbers - Theme::kSmall - 4.0 * blocks()) / wanted;
  const double each = tallOf(block) * share / linesOf(block);
  return {kNames + wide * layer.value(), Theme::kSmall + above * share + 4.0 * block + each * line, wide, each};
}

QPoint KeepMatrix::middleOf(CacheLayer layer) const { return box(layer, 0).center().toPoint(); }

std::optional<KeepMatrix::Place> KeepMatrix::placeAt(QPointF point) const {
  if (m_cells.empty()) return {};
  for (const Layer layer : m_layers.ofModel())
    for (int block = 0; block < blocks(); ++block)
      for (int line = 0; line < linesOf(block); ++line)
        if (box(layer, line, block).contains(point)) return Place{layer, line, block};
  return {};
}

CacheLayer KeepMatrix::layerOf(const Place& place) const {
  const int perPart = place.block == kErrors ? linesOf(kErrors) / m_layers.perLayer : 1;
  return m_layers.of(place.layer)[std::min(place.line / std::max(1, perPart), m_layers.perLayer - 1)];
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

void KeepMatrix::paintName(QPainter& painter, int block, const QString& name) const {
  const auto theme = Theme::current();
  const QRectF first = box(Layer(0), 0, block);
  painter.setPen(theme->muted);
  painter.setFont(theme->small);
  painter.drawText(QRectF(Theme::kMedium, first.top(), kNames - Theme::kLarge, first.height() * linesOf(block)),
                   Qt::AlignVCenter | Qt::AlignLeft, name);
}

/// On a straight scale from 0 to the largest.
void KeepMatrix::paintErrors(QPainter& painter) const {
  const auto theme = Theme::current();
  paintName(painter, kErrors, tr("error"));
  const ColourTable table = colourTable(Quantity::DriftV, *theme);
  for (const Layer layer : m_layers.ofModel())
    for (int head = 0; head < linesOf(kErrors); ++head) {
      const QRectF cell = box(layer, head, kErrors);
      const float error = (*m_errors)[at(layer)][at(head)];
      const double share = m_worst > 0 ? static_cast<double>(error / m_worst) : 0;
      painter.fillRect(cell.adjusted(0, 0, cell.width() > 6 ? -1 : 0, cell.height() > 5 ? -1 : 0),
                       std::isfinite(error) ? QBrush(QColor(colourAt(table, share))) : missingBrush(*theme));
    }
}

void KeepMatrix::paintBlock(QPainter& painter, int block, const QString& name) const {
  const auto theme = Theme::current();
  paintName(painter, block, name);
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
  if (m_errors) paintErrors(painter);
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
  if (const std::optional<Place> place = placeAt(event->position())) emit chosen(layerOf(*place));
}

bool KeepMatrix::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const std::optional<Place> place = placeAt(help->pos())) {
      QToolTip::showText(help->globalPos(),
                         place->block == kErrors ? errorText(place->layer, place->line) : text(layerOf(*place)), this);
      return true;
    }
  }
  return QWidget::event(event);
}

}  // namespace kvlab
