// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in band_paint.cpp.
#include "widgets/views/smartkv/band_canvas.h"

#include <QFontMetrics>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {
namespace {
constexpr int kLeft = 40, kRight = 74, kTop = 20, kTallest = 34, kLowest = 16;
}  // namespace

BandCanvas::BandCanvas(InspectorContext& context, QWidget* parent)
    : AxisCanvas(context, parent), m_bar(new QScrollBar(Qt::Vertical, this)) {
  setMinimumSize(160, 96);
  setAccessibleName(tr("Rows of each layer by band and score"));
  setToolTip(
      tr("Colours show scores, scaled to each layer's range. Click focuses a row; arrow keys move by tokens and "
         "layers; the wheel, + and - zoom, dragging pans, 0 or a double click shows the whole context"));
  setToolTipDuration(5000);
  setMaxScale(24);
  m_bar->hide();
  connect(m_bar, &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
}

void BandCanvas::show(SnapshotPtr snapshot, std::vector<BandRows> layers) {
  m_snapshot = std::move(snapshot);
  m_layers = std::move(layers);
  m_findings = m_snapshot ? FindingMarks(*m_snapshot) : FindingMarks();
  arrange();
}

int BandCanvas::lineHeight() const {
  const int room = height() - kTop - legendRect().height();
  return std::clamp(room / std::max(1, static_cast<int>(m_layers.size())), kLowest, kTallest);
}

QRect BandCanvas::area() const {
  const int bottom = legendRect().top();
  return {kLeft, kTop, std::max(1, wide() - kLeft - kRight), std::max(1, bottom - kTop)};
}

int BandCanvas::wide() const { return width() - (m_bar->isHidden() ? 0 : m_bar->width()); }

void BandCanvas::arrange() {
  m_bar->setGeometry(width() - m_bar->sizeHint().width(), 0, m_bar->sizeHint().width(), height());
  m_bar->setVisible(lineHeight() * lines() > area().height());
  m_bar->setRange(0, std::max(0, lineHeight() * lines() - area().height()));
  m_bar->setPageStep(area().height());
  m_bar->setSingleStep(lineHeight());
  place();
}

void BandCanvas::resizeEvent(QResizeEvent*) { arrange(); }

bool BandCanvas::scrollLines(int pixels) {
  m_bar->setValue(m_bar->value() + pixels);
  return m_bar->maximum() > 0;
}

QRectF BandCanvas::lineRect(int layer) const {
  const int tall = lineHeight();
  return QRectF(area().left(), area().top() + layer * tall - m_bar->value(), area().width(), tall);
}

int BandCanvas::layerAt(double y) const {
  if (y < area().top() || y > area().bottom()) return -1;
  const int layer = static_cast<int>(std::floor((y - area().top() + m_bar->value()) / lineHeight()));
  return layer < static_cast<int>(m_layers.size()) ? layer : -1;
}

QPointF BandCanvas::middleOf(int layer, int position) const {
  return {area().left() + axis().pixel(position + 0.5), lineRect(layer).center().y()};
}

/// Summaries of the tokens that share a pixel.
const std::vector<BandCanvas::Column>& BandCanvas::columnsOf(std::size_t layer) {
  std::vector<Column>& out = m_columns[layer];
  if (!out.empty() || axis().count <= 0) return out;
  const BandRows& rows = m_layers[layer];
  out.resize(at(area().width()));
  for (std::size_t x = 0; x < out.size(); ++x) {
    const double first = axis().item(static_cast<double>(x)), last = axis().item(static_cast<double>(x) + 1);
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
    if (begin >= static_cast<std::int64_t>(rows.band.size())) column.there = -1;  // behind the last token
    out[x] = column;
  }
  return out;
}

void BandCanvas::reveal() {
  const int layer = context().focus().layer.value();
  if (layer >= 0 && layer < lines()) {
    const QRectF line = lineRect(layer);
    if (line.top() < area().top()) m_bar->setValue(layer * lineHeight());
    else if (line.bottom() > area().bottom() + 1) m_bar->setValue((layer + 1) * lineHeight() - area().height());
  }
  revealFocus();
}

CanvasCell BandCanvas::cellAt(QPoint point) const {
  const int position = point.x() < area().left() || point.x() >= wide() || point.y() > area().bottom()
      ? -1
      : axis().at(point.x() - area().left());
  return {position < 0 ? -1 : layerAt(point.y()), position};
}

CanvasCell BandCanvas::focusCell() const {
  return {context().focus().layer.value(), context().focus().position.value()};
}

QString BandCanvas::tipOf(CanvasCell cell) const {
  if (m_findings.empty() || cell.line < 0 || cell.item < 0 || cell.item >= m_snapshot->length()) return {};
  const LedgerId id = m_snapshot->context[at(cell.item)];
  const CacheLayer layer(cell.line);
  return m_findings.of(id, layer) ? m_findings.text(id, layer) : m_findings.text(layer);
}

QString BandCanvas::readout() const {
  if (!m_snapshot) return {};
  const bool hovering = hovered().line >= 0 && context().hovered().value() >= 0;
  const int layer = hovering ? hovered().line : context().focus().layer.value(),
            position = hovering ? context().hovered().value() : context().focus().position.value();
  if (layer < 0 || layer >= static_cast<int>(m_layers.size())) return {};
  const BandRows& rows = m_layers[at(layer)];
  if (position < 0 || position >= static_cast<int>(rows.band.size())) return ghostText(*m_snapshot, context().focus());
  const LedgerId id = m_snapshot->context[at(position)];
  QStringList parts{hovering ? tr("under pointer") : tr("focus"), tokenText(*m_snapshot, id),
                    tr("layer %1").arg(layerText(*m_snapshot, CacheLayer(layer))), tr("position %1").arg(position),
                    rows.band[at(position)] == Band::Gone ? noValueText(*m_snapshot, id, rows.layer, tr("band"))
                                                          : title(rows.band[at(position)])};
  if (!rows.score.empty() && !std::isnan(rows.score[at(position)]))
    parts << tr("score %1").arg(static_cast<double>(rows.score[at(position)]), 0, 'g', 3);
  if (m_findings.of(id, rows.layer)) parts << m_findings.text(id, rows.layer);
  for (const Contest& contest : rows.contests)
    if (contest.loser == id)
      parts << (contest.challenger == id
                    ? tr("left the window in this tick and lost")
                    : tr("driven out in this tick by %1").arg(tokenText(*m_snapshot, contest.challenger)));
    else if (contest.challenger == id)
      parts << tr("drove out %1 in this tick").arg(tokenText(*m_snapshot, contest.loser));
  return parts.join(QStringLiteral("   "));
}

QRect BandCanvas::legendRect() const {
  const int room = wide() - 2 * Theme::kMedium,
            tall = legendHeight(bandLegend(*Theme::current(), !m_findings.empty()), room) + Theme::kSmall;
  return {Theme::kMedium, height() - tall, room, tall};
}

}  // namespace kvlab
