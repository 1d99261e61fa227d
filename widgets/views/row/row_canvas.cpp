// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/row/row_canvas.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"

namespace kvlab {
namespace {
constexpr int kNameRoom = 44, kEdge = 10, kScaleTall = 22, kMostHead = 34, kGroupGap = 10;

/// The index of a signed value in a diverging table; the middle is 0.
std::uint8_t signedIndex(float value, float most) {
  if (!std::isfinite(value)) return 0;
  const float share = most > 0 ? std::clamp(value / most, -1.0f, 1.0f) : 0.0f;
  return static_cast<std::uint8_t>(std::lround(128 + share * 127));
}
}  // namespace

RowCanvas::RowCanvas(InspectorContext& context, QWidget* parent) : AxisCanvas(context, parent) {
  setMinimumSize(160, 120);
  setAccessibleName(tr("Values of the row"));
  setToolTip(
      tr("Click chooses a head and a dimension; arrow keys move; the wheel, + and - zoom, dragging pans, 0 or a double "
         "click shows all dimensions"));
}

void RowCanvas::show(RowPicturePtr picture) {
  m_picture = std::move(picture);
  if (m_picture) choosePlace(m_head, m_dimension);
  forgetHover();
  place();
}

void RowCanvas::choosePlace(int head, int dimension) {
  m_head = m_picture ? std::clamp(head, 0, m_picture->heads - 1) : head;
  m_dimension = m_picture ? std::clamp(dimension, 0, m_picture->dim - 1) : dimension;
  revealFocus();
}

RowCanvas::Parts RowCanvas::parts() const {
  Parts p;
  const int wide = std::max(1, width() - kNameRoom - kEdge);
  p.ruler = QRect(kNameRoom, 0, wide, kScaleTall);
  p.readout = QRect(0, height() - kReadout, width(), kReadout);
  const int foot = legendHeight(legend(*Theme::current()), width() - 2 * Theme::kMedium) + Theme::kTight;
  p.legend = QRect(Theme::kMedium, p.readout.top() - foot, width() - 2 * Theme::kMedium, foot);
  p.gap = lines() > 0 ? kGroupGap : 0;
  const int top = kScaleTall + Theme::kSmall, room = std::max(1, p.legend.top() - Theme::kMedium - top - p.gap);
  p.tall = std::min<double>(kMostHead, static_cast<double>(room) / std::max(1, lines()));
  if (p.tall > 3) p.tall = std::floor(p.tall);
  p.cells = QRect(kNameRoom, top, wide, static_cast<int>(std::lround(p.tall * lines())) + p.gap);
  return p;
}

QRectF RowCanvas::lineBox(const Parts& p, int line) const {
  const double top = p.cells.top() + std::round(p.tall * line) + (keysOf(line) ? 0 : p.gap);
  return {static_cast<double>(p.cells.left()), top, static_cast<double>(p.cells.width()),
          std::max(1.0, std::round(p.tall) - (p.tall >= 5 ? 2 : 0))};
}

CanvasCell RowCanvas::cellAt(QPoint point) const {
  const Parts p = parts();
  const int item = point.x() < kNameRoom ? -1 : axis().at(point.x() - kNameRoom);
  for (int line = 0; item >= 0 && line < lines(); ++line)
    if (lineBox(p, line).adjusted(0, -1, 0, 1).contains(point)) return {line, item};
  return {};
}

void RowCanvas::choose(CanvasCell cell) {
  m_keys = keysOf(cell.line);
  choosePlace(headOf(cell.line), cell.item);
  emit chosen(m_head, m_dimension);
  emit readoutChanged();
}

QString RowCanvas::headText(bool keys, int head) const {
  const RowTensor& t = m_picture->of(keys);
  QString out =
      tr("%1 head %2  %3  norm %4").arg(keys ? "K" : "V").arg(head).arg(t.type, figureText(double(t.norms[at(head)])));
  if (!t.scales.empty()) out += tr("  scale %1").arg(figureText(double(t.scales[at(head)])));
  if (!t.relative.empty()) out += tr("  difference %1").arg(figureText(double(t.relative[at(head)])));
  return out;
}

QString RowCanvas::readout() const {
  if (!m_picture) return {};
  const CanvasCell cell = hovered().there() && hovered().line < lines() ? hovered() : focusCell();
  const RowTensor& t = m_picture->of(keysOf(cell.line));
  const int i = headOf(cell.line) * m_picture->dim + cell.item;
  QString out = headText(keysOf(cell.line), headOf(cell.line)) +
      tr("   [%1] = %2").arg(cell.item).arg(double(t.value(i)), 0, 'g', 6);
  if (!t.other.empty()) out += tr(", compared with %1").arg(double(t.other[at(i)]), 0, 'g', 6);
  return out;
}

void RowCanvas::paintContent(QPainter& painter, const Theme& theme) {
  if (!m_picture) return;
  const Parts p = parts();
  paintRuler(painter, p.ruler, width(), axis(), theme);
  painter.setFont(theme.small);
  painter.setPen(theme.faint);
  painter.drawText(QRect(0, 0, p.cells.left() - 7, p.ruler.height()), Qt::AlignRight | Qt::AlignVCenter, tr("head"));
  for (int line = 0; line < lines(); ++line) {
    paintLine(painter, p, line, theme);
    paintName(painter, p, line, theme);
  }
  paintChosen(painter, p, theme);
  paintLegend(painter, p.legend, legend(theme), theme);
  paintReadout(painter, p.readout, readout(), {}, theme);
}

void RowCanvas::paintLine(QPainter& painter, const Parts& p, int line, const Theme& theme) const {
  const RowTensor& t = m_picture->of(keysOf(line));
  QRectF box = lineBox(p, line), below;
  if (m_picture->compares()) {
    below = box.adjusted(0, std::ceil(box.height() * 0.6), 0, 0);
    box.setBottom(below.top() - (box.height() >= 8 ? 1 : 0));
  }
  painter.save();
  painter.setClipRect(p.cells);
  paintCells(painter, box, t, headOf(line), false, theme);
  if (m_picture->compares()) paintCells(painter, below, t, headOf(line), true, theme);
  painter.restore();
}

/// Paints a cell per dimension, or a pixel per group of dimensions with the value of the largest magnitude.
void RowCanvas::paintCells(QPainter& painter, const QRectF& box, const RowTensor& tensor, int head, bool apart,
                           const Theme& theme) const {
  const ColourTable colours = colourTable(MapKind::Diverging, theme);
  const float most = apart ? tensor.mostApart : tensor.most;
  const auto valueAt = [&](int i) {
    const int place = head * m_picture->dim + i;
    return apart ? tensor.apart(place) : tensor.value(place);
  };
  const auto fill = [&](double left, double right, float value) {
    const std::uint8_t index = signedIndex(value, most);
    const QRectF cell(left, box.top(), right - left, box.height());
    if (index == 0) painter.fillRect(cell, theme.error);
    else painter.fillRect(cell, QColor(colours[index]));
  };
  const auto [begin, end] = axis().inSight();
  for (int i = begin; i < end;) {
    const double left = box.left() + std::floor(axis().pixel(i));
    int next = i + 1;
    float value = valueAt(i);
    for (; next < end && box.left() + std::floor(axis().pixel(next)) <= left; ++next)
      if (const float one = valueAt(next); !std::isfinite(one) || std::abs(one) > std::abs(value)) value = one;
    fill(left, box.left() + std::floor(axis().pixel(next)), value);
    i = next;
  }
}

void RowCanvas::paintName(QPainter& painter, const Parts& p, int line, const Theme& theme) const {
  const bool chosen = headOf(line) == m_head;
  int every = 1;
  while (p.tall * every < 13) every *= 2;
  if (headOf(line) % every && !chosen) return;
  if (!chosen && std::abs(headOf(line) - m_head) * p.tall < 13) return;
  painter.setFont(theme.monoSmall);
  painter.setPen(chosen ? theme.text : theme.faint);
  const QRectF box = lineBox(p, line);
  painter.drawText(QRectF(0, box.center().y() - 7, p.cells.left() - 7, 14), Qt::AlignRight | Qt::AlignVCenter,
                   (keysOf(line) ? QStringLiteral("K ") : QStringLiteral("V ")) + QString::number(headOf(line)));
}

void RowCanvas::paintChosen(QPainter& painter, const Parts& p, const Theme& theme) const {
  painter.save();
  painter.setClipRect(p.cells.adjusted(-2, -2, 2, 2));
  const auto frame = [&](const CanvasCell& cell, const QColor& colour, int wide) {
    const QRectF line = lineBox(p, cell.line);
    paintOutline(painter,
                 QRectF(line.left() + std::floor(axis().pixel(cell.item)), line.top(),
                        std::max(3.0, std::round(axis().scale)), line.height()),
                 colour, wide, theme);
  };
  if (hovered().there() && hovered().line < lines()) frame(hovered(), theme.hover, 1);
  frame(focusCell(), theme.focus, 2);
  painter.restore();
}

std::vector<LegendEntry> RowCanvas::legend(const Theme& theme) const {
  static constexpr int kBarWide = 54;
  std::vector<LegendEntry> out;
  if (!m_picture) return out;
  const auto bar = [&](const QString& words, float most) {
    out.push_back({most > 0 ? tr("%1 −%2 to %2").arg(words, figureText(double(most))) : tr("%1 0").arg(words),
                   kBarWide + Theme::kMedium, [&theme](QPainter& painter, const QRect& box) {
                     paintColours(painter, QRectF(box.left(), QRectF(box).center().y() - 5, kBarWide, 10),
                                  colourTable(MapKind::Diverging, theme));
                   }});
  };
  for (const bool keys : {true, false}) {
    const RowTensor& t = m_picture->of(keys);
    bar(keys ? QStringLiteral("K") : QStringLiteral("V"), t.most);
    if (m_picture->compares())
      bar(keys ? tr("difference of K, below it") : tr("difference of V, below it"), t.mostApart);
  }
  return out;
}

}  // namespace kvlab
