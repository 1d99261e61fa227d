// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry and input; painting is in lanes_paint.cpp.
#include "widgets/views/lanes/lanes_canvas.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"

namespace kvlab {
namespace {
constexpr int kNarrowGutter = 34, kRight = 10, kRuler = 22, kGap = 8;
constexpr int kTallTokens = 70, kFlatTokens = 24, kLowBand = 8, kHighBand = 56, kHighLine = 26;
}  // namespace

LanesCanvas::LanesCanvas(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, 80);
  setAccessibleName(tr("Maps of the lanes"));
  compare();
}

void LanesCanvas::show(LanesViewPtr view) {
  m_view = std::move(view);
  m_findings.clear();
  for (int lane = 0; lane < lanes(); ++lane) m_findings.emplace_back(*m_view->lanes[at(lane)].snapshot);
  compare();
  m_lane = std::clamp(m_lane, 0, std::max(0, lanes() - 1));
  place();
}

void LanesCanvas::setLayer(std::optional<int> layer) {
  if (m_layer == layer) return;
  m_layer = layer;
  compare();
  update();
}

void LanesCanvas::setLosses(bool losses) {
  if (m_byLoss == losses) return;
  m_byLoss = losses;
  compare();
  update();
}

/// Compares only the shown part: all layers of a long context take too long.
void LanesCanvas::compare() {
  m_per = m_view ? linesPerLayer(*m_view) : 1;
  m_cells = m_view ? laneCells(*m_view, m_layer) : std::vector<LaneCells>();
  m_losses = m_view && m_byLoss ? laneLosses(*m_view) : std::vector<LaneLosses>();
  setToolTip(noLosses()
                 ? noLossesHow()
                 : tr("Click focuses a token, the wheel zooms, dragging pans, a double click shows the whole axis"));
  if (m_losses.empty()) return;
  rescale();
}

void LanesCanvas::rescale() {
  if (m_losses.empty()) return;
  const ScaleChoice& choice = context().scale(Quantity::Surprise);
  m_surprise = scalesFor(Quantity::Surprise, m_losses.front().values, 1, choice);
  m_apart = {{}, choice};
  for (int lane = 1; choice.range == ScaleChoice::Range::Line && lane < lanes(); ++lane)
    m_apart.lines.push_back(scaleOf(std::span(m_losses).subspan(at(lane), 1)));
  if (m_apart.lines.empty()) m_apart.lines.push_back(scaleOf(std::span(m_losses).subspan(1)));
  update();
}

/// The end is the 99th percentile, so that one token does not darken all others.
ColourScale LanesCanvas::scaleOf(std::span<const LaneLosses> lanes) const {
  ScaleChoice choice = context().scale(Quantity::Surprise);
  if (choice.range != ScaleChoice::Range::Fixed) choice.low = 0, choice.high = differenceRange(lanes);
  choice.range = ScaleChoice::Range::Fixed;
  std::vector<float> sizes;
  for (const LaneLosses& lane : lanes)
    for (const float value : lane.values) sizes.push_back(std::abs(value));
  return scaleFor(Quantity::Surprise, sizes, choice);
}

void LanesCanvas::setLane(int lane) {
  m_lane = lane;
  update();
}

int LanesCanvas::shownLayers() const {
  if (m_cells.empty()) return 0;
  if (m_byLoss) return 1;
  return m_layer ? m_per : static_cast<int>(m_cells.front().layers.size());
}

/// Names move to the left if the rows are too low for a caption.
bool LanesCanvas::low() const {
  const int foot = legendHeight(legend(*Theme::current()), std::max(1, width() - kNarrowGutter - kRight));
  return lanes() * (kCaption + kGap + kLowBand) > height() - kRuler - foot;
}

int LanesCanvas::gutter() const { return low() ? std::clamp(width() / 4, kNarrowGutter, 190) : kNarrowGutter; }

LanesCanvas::Parts LanesCanvas::parts() const {
  Parts p;
  p.caption = low() ? 0 : kCaption;
  const int left = gutter(), wide = std::max(1, width() - left - kRight),
            foot = legendHeight(legend(*Theme::current()), wide) + Theme::kTight;
  p.legend = QRect(left, height() - foot, wide, foot);
  const int least = lanes() * (kCaption + kGap + kLowBand + 10);
  const bool room = height() - kRuler - foot - kTallTokens > least;
  const int band = axis().scale < kTokenScale || !room ? 0 : axis().scale < kWideScale ? kTallTokens : kFlatTokens;
  p.ruler = QRect(left, 0, wide, kRuler);
  p.tokens = QRect(left, kRuler, wide, band);
  const int top = kRuler + band + (p.caption ? Theme::kTight : Theme::kMedium);
  p.each = std::max(4, (p.legend.top() - top) / std::max(1, lanes()));
  const int gap = p.caption ? kGap : std::min(kGap, p.each / 4);
  p.bandHeight = std::clamp(p.each - p.caption - gap, 3, std::max(kHighBand, kHighLine * shownLayers()));
  p.each = p.caption + p.bandHeight + gap;
  p.lanes = QRect(left, top, wide, lanes() * p.each);
  return p;
}

QRect LanesCanvas::band(int lane) const {
  const Parts p = parts();
  return {p.lanes.left(), p.lanes.top() + lane * p.each + p.caption, p.lanes.width(), p.bandHeight};
}

int LanesCanvas::laneAt(int y) const {
  const Parts p = parts();
  const int lane = (y - p.lanes.top()) / p.each;
  return y < p.lanes.top() || lane >= lanes() ? -1 : lane;
}

int LanesCanvas::layerAt(int lane, int y) const {
  if (m_byLoss) return std::clamp(context().focus().layer.value(), 0, std::max(0, layers() - 1));
  const QRect box = band(lane);
  const int line = (y - box.top()) * shownLayers() / std::max(1, box.height());
  return lineIn(std::clamp(line, 0, std::max(0, shownLayers() - 1))) / m_per;
}

/// The part of a band that shows one layer, in whole pixels.
QRectF LanesCanvas::lineOf(const QRect& band, int line) const {
  const auto y = [&](int i) {
    return std::round(band.top() + static_cast<double>(band.height()) * i / std::max(1, shownLayers()));
  };
  return {static_cast<double>(band.left()), y(line), static_cast<double>(band.width()), y(line + 1) - y(line)};
}

/// The token at a position of the reference's context.
int LanesCanvas::tokenOf(Position position) const {
  const SnapshotPtr snapshot = context().snapshot();
  if (!m_view || !snapshot || position.value() < 0 || position.value() >= snapshot->length()) return -1;
  return placeOf(m_view->lanes.front(), snapshot->context[at(position.value())]);
}

int LanesCanvas::focusToken() const {
  return m_view && context().focus().ledger.value() >= 0 ? placeOf(m_view->lanes.front(), context().focus().ledger)
                                                         : -1;
}

QString LanesCanvas::stateOf(int lane, int layer, int token) const {
  const auto& lines = m_cells[at(lane)].layers;
  int there = 0;
  for (int line = layer * m_per; line < (layer + 1) * m_per; ++line) {
    if (at(line) >= lines.size() || !lines[at(line)]) return tr("not compared");
    const std::vector<LaneCell>& cells = *lines[at(line)];
    if (at(token) >= cells.size()) return tr("never came");
    const LaneCell cell = cells[at(token)];
    there += cell == LaneCell::Same || cell == LaneCell::Extra;
  }
  if (there > 0 && there < m_per) return tr("in %1 of %2 heads").arg(there).arg(m_per);
  return there ? tr("resident") : tr("not resident");
}

QString LanesCanvas::foundOf(int lane, int token) const {
  const Column<LedgerId>& taken = m_view->lanes[at(lane)].taken;
  return token >= 0 && at(token) < taken.size() ? m_findings[at(lane)].text(taken[at(token)]) : QString();
}

QString LanesCanvas::tipOf(CanvasCell cell) const {
  const int lane = layers() > 0 && cell.line >= 0 ? cell.line / layers() : -1;
  return lane < 0 || lane >= lanes() ? QString() : foundOf(lane, cell.item);
}

QString LanesCanvas::readout() const {
  const int under = tokenOf(context().hovered()), token = under >= 0 ? under : focusToken();
  if (!m_view || token < 0 || token >= tokens()) return {};
  const LaneView& first = m_view->lanes.front();
  const CacheLayer layer = context().focus().layer;
  const QString gap = QStringLiteral("   ");
  QString out = (under >= 0 ? tr("token %1") : tr("focus   token %1")).arg(token) + gap +
      tokenText(*first.snapshot, first.taken[at(token)]);
  if (!m_losses.empty()) return out + lossReadout(token);
  out += gap + tr("layer %1").arg(layerText(*first.snapshot, layer));
  for (int lane = 0; lane < lanes(); ++lane)
    out += gap + tr("lane %1 %2").arg(lane).arg(stateOf(lane, layer.value(), token)) +
        (foundOf(lane, token).isEmpty() ? QString() : tr(", ✕ found wrong"));
  return out;
}

CanvasCell LanesCanvas::cellAt(QPoint point) const {
  const QRect all = parts().lanes;
  const int token = point.x() < all.left() || point.y() > all.bottom() ? -1 : axis().at(point.x() - all.left());
  const int lane = token < 0 ? -1 : laneAt(point.y());
  return {lane < 0 ? -1 : lane * layers() + layerAt(lane, point.y()), token};
}

CanvasCell LanesCanvas::focusCell() const {
  return {m_lane * layers() + std::max(0, context().focus().layer.value()), focusToken()};
}

void LanesCanvas::choose(CanvasCell cell) {
  if (layers() > 0) emit clicked(cell.line / layers(), CacheLayer(cell.line % layers()), cell.item);
}

/// The token under the pointer, if it is still in the reference's context.
Position LanesCanvas::positionOf(CanvasCell cell) const {
  if (cell.line < 0 || cell.item < 0 || !context().snapshot()) return Position(-1);
  return Position(placeIn(*context().snapshot(), m_view->lanes.front().taken[at(cell.item)], -1));
}

/// Keys change the layer and the token, not the lane. Losses have no layers: keys change the lane.
CanvasCell LanesCanvas::stepped(const CellStep& by) const {
  if (tokens() == 0 || layers() == 0) return {};
  if (m_byLoss) {
    const int lane = std::clamp(m_lane + by.lines, 0, lanes() - 1);
    return {lane * layers() + layerAt(lane, 0), std::clamp(focusToken() + by.items, 0, tokens() - 1)};
  }
  const int layer = std::clamp(context().focus().layer.value() + by.lines, 0, layers() - 1);
  return {m_lane * layers() + layer, std::clamp(focusToken() + by.items, 0, tokens() - 1)};
}

}  // namespace kvlab
