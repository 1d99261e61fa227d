// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/colour_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/api/snapshot.h"
#include "widgets/base/format.h"
#include "widgets/base/scale_menu.h"
#include "widgets/canvas/measured_by.h"
#include "widgets/figure/figure.h"

namespace kvlab {
namespace {
constexpr QRgb kViridis[] = {0xff440154, 0xff482878, 0xff3e4989, 0xff31688e, 0xff26828e,
                             0xff1f9e89, 0xff35b779, 0xff6ece58, 0xffb5de2b, 0xfffde725};
constexpr QRgb kCividis[] = {0xff00224e, 0xff123570, 0xff3b496c, 0xff575d6d, 0xff707173,
                             0xff8a8678, 0xffa59c74, 0xffc3b369, 0xffe1cc55, 0xfffee838};
constexpr QRgb kInferno[] = {0xff000004, 0xff1b0c41, 0xff4a0c6b, 0xff781c6d, 0xffa52c60,
                             0xffcf4446, 0xffed6925, 0xfffb9b06, 0xfff7d13d, 0xfffcffa4};
constexpr QRgb kPuOr[] = {0xff542788, 0xff8073ac, 0xffb2abd2, 0xffd8daeb, 0xfff7f7f7,
                          0xfffee0b6, 0xfffdb863, 0xffe08214, 0xffb35806};
// Exact, context evicted, context edited, phase shifted, inherited, loaded; the theme replaces the first.
constexpr QRgb kStaleness[kExactnessLabels] = {0xff3f5870, 0xff56b4e9, 0xffe69f00, 0xffcc79a7, 0xfff0e442, 0xff2fb08a};
constexpr QRgb kStalenessLight[kExactnessLabels] = {0xffd3dde8, 0xff3a96cc, 0xffdd8f00,
                                                    0xffb85c93, 0xffc9b800, 0xff12866a};

QRgb along(std::span<const QRgb> stops, double t) {
  const double place = t * static_cast<double>(stops.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double f = place - static_cast<double>(i);
  const auto blend = [f](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * f)); };
  const QRgb a = stops[i], b = stops[i + 1];
  return qRgb(blend(qRed(a), qRed(b)), blend(qGreen(a), qGreen(b)), blend(qBlue(a), qBlue(b)));
}

std::span<const QRgb> stopsOf(MapKind kind) {
  switch (kind) {
    case MapKind::Cividis: return kCividis;
    case MapKind::Inferno: return kInferno;
    case MapKind::Diverging: return kPuOr;
    default: return kViridis;
  }
}

std::span<const QRgb> classesOf(MapKind kind, const Theme& theme) {
  static constexpr QRgb kResidency[] = {0xff2f7fb8, 0xffe69f00};
  static constexpr QRgb kResidencyLight[] = {0xff6fb1dd, 0xffdd8f00};
  if (kind == MapKind::Residency)
    return theme.dark ? std::span<const QRgb>(kResidency) : std::span<const QRgb>(kResidencyLight);
  return theme.dark ? std::span<const QRgb>(kStaleness) : std::span<const QRgb>(kStalenessLight);
}

constexpr int kBarWidth = 110, kNarrowBar = 40, kBarHeight = 10;
constexpr int kSwatchRoom = kBarHeight + 3 * Theme::kSmall;  // width of a swatch with its gaps
const QString kComma = QStringLiteral(", "), kGoneWord = QStringLiteral("gone"),
              kUnmeasuredWord = QStringLiteral("not measured");

/// "not measured: Measure Drift, Ctrl+D"
QString unmeasuredWords(Quantity quantity) {
  const QString how = measuredBy(quantity);
  return how.isEmpty() ? kUnmeasuredWord : kUnmeasuredWord + QStringLiteral(": ") + how;
}

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

/// The colours of a map from left to right. In a figure each reaches to the right edge, and the next covers it.
void paintBar(QPainter& painter, const QRectF& box, const ColourTable& colours) {
  QImage bar(256 - kFirstColour, 1, QImage::Format_RGB32);
  for (int i = 0; i < bar.width(); ++i) bar.setPixel(i, 0, colours[at(i + kFirstColour)]);
  if (!paintsFigure(painter)) return painter.drawImage(box, bar);
  for (int i = 0; i < bar.width(); ++i)
    painter.fillRect(box.adjusted(box.width() * i / bar.width(), 0, 0, 0), bar.pixelColor(i, 0));
}

/// The words next to a colour map of a single value.
QString onlyValueText(Quantity quantity, float value) {
  const QString all = QStringLiteral("every row: ") + valueText(quantity, value);
  return quantity == Quantity::Brightness ? all + QStringLiteral("; fades with each generated token") : all;
}

/// Texts at the ends of the bar; lines with scales of their own have no ends in common.
std::pair<QString, QString> endTexts(const ColourScales& scales) {
  if (scales.lines.size() > 1) return {QStringLiteral("least"), QStringLiteral("most")};
  const ColourScale& scale = scales.first();
  return {(scale.curve == ColourScale::Curve::Log ? QStringLiteral("≤ ") : QString()) +
              valueText(scale.quantity, scale.low),
          valueText(scale.quantity, scale.high)};
}
}  // namespace

ColourTable colourTable(MapKind kind, const Theme& theme) {
  ColourTable table{};
  table[kUnmeasured] = table[kGone] = theme.missing.rgb();
  const bool classes = kind == MapKind::Residency || kind == MapKind::Staleness;
  for (std::size_t i = kFirstColour; i < table.size(); ++i) {
    const double t = i == kFirstColour ? 0 : static_cast<double>(i - 1) / 254;
    if (classes) {
      const auto colours = classesOf(kind, theme);
      table[i] = colours[at(std::lround(t * static_cast<double>(colours.size() - 1)))];
    } else {
      table[i] = along(stopsOf(kind), t);
    }
  }
  return table;
}

ColourTable colourTable(Quantity quantity, const Theme& theme) { return colourTable(lookOf(quantity).map, theme); }

QString shortValueText(Quantity quantity, float value) {
  if (std::isnan(value)) return {};
  if (quantity == Quantity::Residency) return value > 0.5f ? "yes" : "no";
  if (quantity == Quantity::Age) return QString::number(static_cast<int>(value));
  return valueText(quantity, value).section(' ', -1);
}

QString titleInText(Quantity quantity) {
  QString text = wordOf(title(quantity));
  if (text.size() > 1 && text[1].isLetter()) text[0] = text[0].toLower();
  return text;
}

QString valueText(Quantity quantity, float value) {
  static constexpr const char* kClasses[kExactnessLabels] = {"exact",         "context evicted", "context edited",
                                                             "phase shifted", "inherited",       "loaded"};
  if (std::isnan(value)) return QStringLiteral("no value");
  switch (quantity) {
    case Quantity::Residency: return value > 0.5f ? "resident" : "not resident";
    case Quantity::Staleness: return kClasses[std::clamp(static_cast<int>(value), 0, kExactnessLabels - 1)];
    case Quantity::Age: return QString("%1 ticks").arg(static_cast<int>(value));
    case Quantity::Brightness: return QString::number(static_cast<double>(value), 'g', value < 10 ? 2 : 3);
    default: return QString::number(static_cast<double>(value), 'g', 3);
  }
}

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
  const QString missing = legend.unmeasured ? QStringLiteral("; ") + unmeasuredWords(quantity) : QString();
  if (legend.only) return wordOf(title(quantity)) + ", " + onlyValueText(quantity, *legend.only) + missing;
  const auto [low, high] = endTexts(legend.scales);
  return QStringLiteral("%1: %2 to %3, %4").arg(wordOf(title(quantity)), low, high, legendWords(legend)) + missing;
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
    paintBar(painter, pen.box(std::clamp(room, kNarrowBar, kBarWidth)), colours);
    pen.text(high);
    pen.optional(words, end);
  }
  pen.x += Theme::kSmall;
  if (scale.quantity == Quantity::Residency) return pen.x - area.left();
  if (legend.gone) pen.swatch(missingBrush(theme), kGoneWord);
  const auto dots = [&](const QString& words) { return pen.swatch(unmeasuredBrush(theme), words); };
  if (legend.unmeasured && !dots(unmeasuredWords(scale.quantity))) dots(kUnmeasuredWord);
  return pen.x - area.left();
}

}  // namespace kvlab
