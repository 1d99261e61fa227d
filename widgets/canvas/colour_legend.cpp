// SPDX-License-Identifier: GPL-3.0-or-later
// Paints the legend of a colour map.
#include <cmath>

#include "widgets/canvas/colour_map.h"

namespace kvlab {
namespace {
constexpr int kBarWidth = 132, kBarHeight = 10;

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
  QImage bar(255, 1, QImage::Format_RGB32);
  for (int i = 0; i < 255; ++i) bar.setPixel(i, 0, colours[at(i) + 1]);
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

std::optional<float> onlyValue(const std::vector<float>& values) {
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

int paintLegend(QPainter& painter, const QRect& area, const ColourScale& scale, std::optional<float> only,
                const Theme& theme) {
  Pen pen{painter, area, theme, area.left()};
  const ColourTable colours = colourTable(scale.quantity, theme);
  if (isCategorical(scale.quantity)) {
    for (int v = 0; v <= static_cast<int>(scale.high); ++v) {
      const float value = static_cast<float>(v);
      if (!pen.swatch(QColor(colours[scale.index(value)]), valueText(scale.quantity, value)))
        return pen.x - area.left();
    }
  } else if (only) {
    pen.box(0);
    pen.swatch(QColor(colours[scale.index(*only)]), onlyValueText(scale.quantity, *only));
  } else {
    pen.text(scale.bend == ColourScale::Bend::Log ? "≤ " + valueText(scale.quantity, scale.low)
                                                  : valueText(scale.quantity, scale.low));
    const QRect bar = pen.box(kBarWidth);
    painter.drawImage(bar, barImage(colours));
    pen.text(valueText(scale.quantity, scale.high));
  }
  pen.x += Theme::kSmall;
  if (scale.quantity != Quantity::Residency) pen.swatch(missingBrush(theme), QStringLiteral("no value"));
  return pen.x - area.left();
}

}  // namespace kvlab
