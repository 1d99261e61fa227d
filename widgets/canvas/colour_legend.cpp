// SPDX-License-Identifier: GPL-3.0-or-later
// Paints the legend of a colour map.
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/scale_menu.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {
namespace {
constexpr int kBarWidth = 110, kNarrowBar = 40, kBarHeight = 10;
constexpr int kSwatchRoom = kBarHeight + 3 * Theme::kSmall;  // width of a swatch with its gaps
const QString kComma = QStringLiteral(", "), kGoneWord = QStringLiteral("gone"),
              kUnmeasuredWord = QStringLiteral("not measured");

struct Pen {
  QPainter& painter;
  const QRect area;
  const Theme& theme;
  int x;

  void text(const QString& words) {
    painter.setFont(theme.small);
    painter.setPen(theme.muted);
    const int width = painter.fontMetrics().horizontalAdvance(words);
    painter.drawText(QRect(x, area.top(), width + 2, area.height()), Qt::AlignVCenter, words);
    x += width + Theme::kSmall + 1;
  }
  /// Draws as much as there is room for, from the first word on.
  void optional(const QString& words, int end) {
    for (QStringList parts = words.split(kComma); !parts.isEmpty(); parts.removeLast())
      if (const QString part = parts.join(kComma); x + wide(part) <= end) return text(part);
  }
  /// Width of a text with the gap behind it.
  int wide(const QString& words) const {
    return QFontMetrics(theme.small).horizontalAdvance(words) + Theme::kSmall + 1;
  }
  QRect box(int width) {
    const QRect r(x, area.center().y() - kBarHeight / 2 + 1, width, kBarHeight);
    x += width + Theme::kSmall + 1;
    return r;
  }
  /// Draws a swatch; false, and nothing drawn, if there is no room.
  bool swatch(const QBrush& fill, const QString& words) {
    const int wide = kBarHeight + Theme::kSmall + QFontMetrics(theme.small).horizontalAdvance(words);
    if (x + wide > area.right()) return false;
    const QRect r = box(kBarHeight);
    painter.fillRect(r, fill);
    painter.setPen(theme.border);
    painter.drawRect(r.adjusted(0, 0, -1, -1));
    text(words);
    x += Theme::kSmall;
    return true;
  }
};

QImage barImage(const ColourTable& colours) {
  QImage bar(256 - kFirstColour, 1, QImage::Format_RGB32);
  for (int i = 0; i < bar.width(); ++i) bar.setPixel(i, 0, colours[at(i + kFirstColour)]);
  return bar;
}
}  // namespace

QBrush missingBrush(const Theme& theme) {
  QImage tile(6, 6, QImage::Format_RGB32);
  tile.fill(theme.surface);
  for (int i = 0; i < 6; ++i) tile.setPixelColor(i, 5 - i, theme.missing);
  return QBrush(tile);
}

QColor readableOn(QRgb background) {
  const auto linear = [](int c) { return std::pow(c / 255.0, 2.2); };
  const double light =
      0.2126 * linear(qRed(background)) + 0.7152 * linear(qGreen(background)) + 0.0722 * linear(qBlue(background));
  return light > 0.22 ? QColor(0x0b, 0x10, 0x18) : QColor(0xff, 0xff, 0xff);
}

QBrush unmeasuredBrush(const Theme& theme) {
  QImage tile(6, 6, QImage::Format_RGB32);
  tile.fill(theme.surface);
  for (int i = 0; i < 4; ++i) tile.setPixelColor(i % 2, i / 2, theme.missing);
  return QBrush(tile);
}

std::optional<float> onlyValue(std::span<const float> values) {
  std::optional<float> only;
  for (const float value : values) {
    if (std::isnan(value)) continue;
    if (only && *only != value) return {};
    only = value;
  }
  return only;
}

QString onlyValueText(Quantity quantity, float value) {
  const QString all = QStringLiteral("every row: ") + valueText(quantity, value);
  return quantity == Quantity::Brightness ? all + QStringLiteral("; fades with each generated token") : all;
}

namespace {
/// Texts at the ends of the bar; lines with scales of their own have no ends in common.
std::pair<QString, QString> endTexts(const ColourScales& scales) {
  if (scales.lines.size() > 1) return {QStringLiteral("least"), QStringLiteral("most")};
  const ColourScale& scale = scales.first();
  return {(scale.curve == ColourScale::Curve::Log ? QStringLiteral("≤ ") : QString()) +
              valueText(scale.quantity, scale.low),
          valueText(scale.quantity, scale.high)};
}

}  // namespace

QString legendWords(const ColourLegend& legend) {
  const ColourScale& scale = legend.scales.first();
  const QString half = scale.ranks && legend.scales.lines.size() == 1
      ? QStringLiteral(", half ≤ ") + valueText(scale.quantity, scale.ranks->median())
      : QString();
  return scaleText(legend.scales.choice, curveText(scale.curve)) + half;
}
QString legendText(const ColourLegend& legend) {
  const Quantity quantity = legend.quantity();
  const ColourScale& scale = legend.scales.first();
  if (isCategorical(quantity)) {
    QStringList names;
    for (int v = 0; v <= static_cast<int>(scale.high); ++v) names << valueText(quantity, static_cast<float>(v));
    return wordOf(title(quantity)) + ": " + names.join(", ");
  }
  if (legend.only) return wordOf(title(quantity)) + ", " + onlyValueText(quantity, *legend.only);
  const auto [low, high] = endTexts(legend.scales);
  return QStringLiteral("%1: %2 to %3, %4").arg(wordOf(title(quantity)), low, high, legendWords(legend));
}

int paintLegend(QPainter& painter, const QRect& area, const ColourLegend& legend, const Theme& theme) {
  Pen pen{painter, area, theme, area.left()};
  const ColourScale& scale = legend.scales.first();
  const ColourTable colours = colourTable(scale.quantity, theme);
  if (isCategorical(scale.quantity)) {
    for (int v = 0; v <= static_cast<int>(scale.high); ++v) {
      const float value = static_cast<float>(v);
      if (!pen.swatch(QColor(colours[scale.index(value)]), valueText(scale.quantity, value)))
        return pen.x - area.left();
    }
  } else if (legend.only) {
    pen.box(0);
    pen.swatch(QColor(colours[scale.index(*legend.only)]), onlyValueText(scale.quantity, *legend.only));
  } else {
    const auto [low, high] = endTexts(legend.scales);
    const QString words = legendWords(legend);
    const int end = area.right() - (legend.gone ? pen.wide(kGoneWord) + kSwatchRoom : 0) -
        (legend.unmeasured ? pen.wide(kUnmeasuredWord) + kSwatchRoom : 0);
    const int room =
        end - area.left() - pen.wide({}) - pen.wide(low) - pen.wide(high) - pen.wide(words.section(kComma, 0, 0));
    pen.text(low);
    painter.drawImage(pen.box(std::clamp(room, kNarrowBar, kBarWidth)), barImage(colours));
    pen.text(high);
    pen.optional(words, end);
  }
  pen.x += Theme::kSmall;
  if (scale.quantity == Quantity::Residency) return pen.x - area.left();
  if (legend.gone) pen.swatch(missingBrush(theme), kGoneWord);
  if (legend.unmeasured) pen.swatch(unmeasuredBrush(theme), kUnmeasuredWord);
  return pen.x - area.left();
}

}  // namespace kvlab
