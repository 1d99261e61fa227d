// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in band_paint.cpp.
#include "widgets/views/smartkv/band_canvas.h"

#include <QFontMetrics>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/scroll_bars.h"
#include "widgets/canvas/axis_parts.h"

namespace kvlab {
namespace {
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
constexpr int kLeft = 40, kRight = 74, kTop = 20, kTallest = 34, kLowest = 16;
}  // namespace

BandCanvas::BandCanvas(InspectorContext& context, QWidget* parent) : QAbstractScrollArea(parent), m_context(context) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(160, 96);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Rows of each layer by band and score"));
  setToolTip(
      tr("Colours are scores, each layer's own range from low to high. Click focuses a row; arrow keys move by tokens "
         "and layers; Ctrl and wheel, + and - zoom, 0 shows all"));
  setToolTipDuration(5000);
  m_axis.maxScale = 24;
  settleBars(this);
}

void BandCanvas::show(SnapshotPtr snapshot, std::vector<BandRows> layers) {
  m_snapshot = std::move(snapshot);
  m_layers = std::move(layers);
  arrange();
}

int BandCanvas::lineHeight() const {
  const int room = viewport()->height() - kTop - legendRect().height();
  return std::clamp(room / std::max(1, static_cast<int>(m_layers.size())), kLowest, kTallest);
}

QRect BandCanvas::area() const {
  const int bottom = legendRect().top();
  return {kLeft, kTop, std::max(1, viewport()->width() - kLeft - kRight), std::max(1, bottom - kTop)};
}

void BandCanvas::arrange() {
  m_axis.resize(m_snapshot ? m_snapshot->length() : 0, area().width());
  const int all = lineHeight() * static_cast<int>(m_layers.size());
  verticalScrollBar()->setRange(0, std::max(0, all - area().height()));
  verticalScrollBar()->setPageStep(area().height());
  verticalScrollBar()->setSingleStep(lineHeight());
  m_columns.assign(m_layers.size(), {});
  viewport()->update();
}

void BandCanvas::resizeEvent(QResizeEvent*) { arrange(); }
void BandCanvas::scrollContentsBy(int, int) { viewport()->update(); }

QRectF BandCanvas::lineRect(int layer) const {
  const int tall = lineHeight();
  return QRectF(area().left(), area().top() + layer * tall - verticalScrollBar()->value(), area().width(), tall);
}

int BandCanvas::layerAt(double y) const {
  if (y < area().top() || y > area().bottom()) return -1;
  const int layer = static_cast<int>(std::floor((y - area().top() + verticalScrollBar()->value()) / lineHeight()));
  return layer < static_cast<int>(m_layers.size()) ? layer : -1;
}

QPointF BandCanvas::cellAt(int layer, int position) const {
  return {area().left() + m_axis.pixel(position + 0.5), lineRect(layer).center().y()};
}

/// What the tokens that share a pixel come to.
const std::vector<BandCanvas::Column>& BandCanvas::columnsOf(std::size_t layer) {
  std::vector<Column>& out = m_columns[layer];
  if (!out.empty() || m_axis.count <= 0) return out;
  const BandRows& rows = m_layers[layer];
  out.resize(at(area().width()));
  for (std::size_t x = 0; x < out.size(); ++x) {
    const double first = m_axis.item(static_cast<double>(x)), last = m_axis.item(static_cast<double>(x) + 1);
    const auto begin = static_cast<std::int64_t>(first),
               end = std::min(std::max(begin + 1, static_cast<std::int64_t>(last)),
                              static_cast<std::int64_t>(rows.band.size()));
    Column column;
    column.score = NAN;
    std::int64_t there = 0;
    for (std::int64_t p = begin; p < end; ++p) {
      const Band band = rows.band[at(p)];
      if (band == Band::Gone) continue;
      ++there;
      column.band = std::max(column.band, band);
      if (!rows.score.empty() && !(rows.score[at(p)] <= column.score)) column.score = rows.score[at(p)];
    }
    column.there = end > begin ? static_cast<float>(there) / static_cast<float>(end - begin) : 0;
    if (begin >= static_cast<std::int64_t>(rows.band.size())) column.there = -1;  // beyond the last token
    out[x] = column;
  }
  return out;
}

void BandCanvas::zoom(double factor) {
  const int position = m_context.focus().position.value();
  m_axis.zoom(position >= 0 ? std::clamp(m_axis.pixel(position), 0.0, m_axis.extent) : m_axis.extent / 2, factor);
  arrange();
}

void BandCanvas::reveal() {
  const int layer = m_context.focus().layer.value(), position = m_context.focus().position.value();
  if (layer >= 0 && layer < static_cast<int>(m_layers.size()) && verticalScrollBar()->maximum() > 0) {
    const QRectF line = lineRect(layer);
    if (line.top() < area().top()) verticalScrollBar()->setValue(layer * lineHeight());
    else if (line.bottom() > area().bottom() + 1)
      verticalScrollBar()->setValue((layer + 1) * lineHeight() - area().height());
  }
  if (position >= 0 && !m_axis.fitted) {
    m_axis.reveal(position);
    m_columns.assign(m_layers.size(), {});
  }
  viewport()->update();
}

void BandCanvas::step(int layers, int positions) {
  if (!m_snapshot || m_layers.empty() || m_snapshot->length() == 0) return;
  const int layer = std::clamp(m_context.focus().layer.value() + layers, 0, static_cast<int>(m_layers.size()) - 1);
  const int from = m_context.focus().position.value();
  emit clicked(
      Layer(layer),
      Position(std::clamp(from < 0 ? m_snapshot->length() - 1 : from + positions, 0, m_snapshot->length() - 1)));
}

void BandCanvas::mousePressEvent(QMouseEvent* event) {
  const int layer = layerAt(event->position().y()), position = m_axis.at(event->position().x() - area().left());
  if (event->button() != Qt::LeftButton || layer < 0 || position < 0) return;
  emit clicked(Layer(layer), Position(position));
}

void BandCanvas::mouseMoveEvent(QMouseEvent* event) {
  m_hoverLayer = layerAt(event->position().y());
  const double x = event->position().x() - area().left();
  m_context.setHovered(Position(m_hoverLayer < 0 || x < 0 ? -1 : m_axis.at(x)));
  emit readoutChanged();
}

bool BandCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    m_hoverLayer = -1;
    m_context.setHovered(Position(-1));
    emit readoutChanged();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void BandCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const bool aside = event->modifiers() & Qt::ShiftModifier || std::abs(turn.x()) > std::abs(turn.y());
  if (!aside && !(event->modifiers() & Qt::ControlModifier) && verticalScrollBar()->maximum() > 0)
    return QAbstractScrollArea::wheelEvent(event);
  turnAxis(m_axis, *event, area().left());
  arrange();
  event->accept();
}

void BandCanvas::keyPressEvent(QKeyEvent* event) {
  const int all = m_snapshot ? m_snapshot->length() : 0;
  if (const auto by = cellStep(*event, std::max(1, static_cast<int>(m_axis.visible())), all))
    return step(by->lines, by->items);
  const auto factor = zoomStep(*event);
  if (!factor) return QAbstractScrollArea::keyPressEvent(event);
  if (*factor > 0) return zoom(*factor);
  m_axis.fit();
  arrange();
}

QString BandCanvas::readout() const {
  if (!m_snapshot) return {};
  const bool hovering = m_hoverLayer >= 0 && m_context.hovered().value() >= 0;
  const int layer = hovering ? m_hoverLayer : m_context.focus().layer.value(),
            position = hovering ? m_context.hovered().value() : m_context.focus().position.value();
  if (layer < 0 || layer >= static_cast<int>(m_layers.size())) return {};
  const BandRows& rows = m_layers[at(layer)];
  if (position < 0 || position >= static_cast<int>(rows.band.size())) return ghostText(*m_snapshot, m_context.focus());
  const LedgerId id = m_snapshot->context[at(position)];
  QStringList parts{hovering ? tr("under pointer") : tr("focus"), tokenText(*m_snapshot, id),
                    tr("layer %1").arg(layerText(*m_snapshot, layer)), tr("position %1").arg(position),
                    title(rows.band[at(position)])};
  if (!rows.score.empty() && !std::isnan(rows.score[at(position)]))
    parts << tr("score %1").arg(static_cast<double>(rows.score[at(position)]), 0, 'g', 3);
  for (const Contest& contest : rows.contests)
    if (contest.loser == id)
      parts << (contest.challenger == id
                    ? tr("left the window in this tick and lost")
                    : tr("driven out in this tick by %1").arg(tokenText(*m_snapshot, contest.challenger)));
    else if (contest.challenger == id)
      parts << tr("drove out %1 in this tick").arg(tokenText(*m_snapshot, contest.loser));
  return parts.join(QStringLiteral("   "));
}

QStringList BandCanvas::legendTexts() const {
  return {tr("sinks"), tr("budget"), tr("window"), tr("evicted"), tr("left now"), tr("took a place"), tr("score")};
}

/// The last one, of scores, has a bar for a swatch.
int BandCanvas::swatchOf(qsizetype entry) const { return entry == legendTexts().size() - 1 ? 54 : 20; }

std::vector<int> BandCanvas::legendWidths() const {
  const QFontMetrics metrics(Theme::current()->small);
  std::vector<int> widths;
  for (const QString& text : legendTexts())
    widths.push_back(swatchOf(static_cast<qsizetype>(widths.size())) + metrics.horizontalAdvance(text) + Theme::kLarge);
  return widths;
}

QRect BandCanvas::legendRect() const {
  const int wide = viewport()->width() - 2 * Theme::kMedium, tall = legendHeight(legendWidths(), wide) + Theme::kSmall;
  return {Theme::kMedium, viewport()->height() - tall, wide, tall};
}

}  // namespace kvlab
