// SPDX-License-Identifier: GPL-3.0-or-later
// Colours for values: perceptually even maps that are safe for colour blindness, the scale that maps a value to a
// colour index, and the legend. Index 0 of every table means "no value". Values; painting on the GUI thread, the rest
// on any thread.
//
// Control values: viridis, cividis, inferno (matplotlib, CC0), PuOr (ColorBrewer, Apache-2.0),
// categories after Okabe and Ito (2008).
#pragma once
#include <QColor>
#include <QPainter>
#include <QRect>
#include <QString>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/api/tile.h"
#include "widgets/base/theme.h"

namespace kvlab {

enum class MapKind : std::uint8_t { Viridis, Cividis, Inferno, Diverging, Residency, Staleness };

/// 256 colours; entry 0 is Theme::missing, 1..255 run along the map.
using ColourTable = std::array<QRgb, 256>;
ColourTable colourTable(MapKind kind, const Theme& theme);
MapKind mapKindFor(Quantity quantity);

/// Maps values to the range of a colour map: ends, and the curve between them.
struct ColourScale {
  enum class Bend : std::uint8_t { Linear, Root, Log };
  Quantity quantity = Quantity::Brightness;
  float low = 0, high = 1;
  Bend bend = Bend::Linear;  // Log needs low > 0; it is piecewise linear between powers of 2

  /// Maps to 0..1; NaN stays NaN. Residency is inverted: absent rows are more important and must win if rows share a
  /// pixel.
  float unit(float value) const;
  /// 0 for not-a-number, else 1..255.
  std::uint8_t index(float value) const;
  /// index() of many values; both have the same size.
  void quantise(std::span<const float> values, std::span<std::uint8_t> out) const;
  bool operator==(const ColourScale&) const = default;
};

/// The scale of a quantity: its fixed ends, else the range of finite values.
ColourScale scaleFor(Quantity quantity, const std::vector<float>& values);
/// The quantity's title for use within a sentence: "drift of V", "K norm".
QString titleInText(Quantity quantity);
/// A readable value: "212", "0.031", "context edited"; "not resident" for NaN.
QString valueText(Quantity quantity, float value);
/// A short form that fits into a cell: "edited".
QString shortValueText(Quantity quantity, float value);
/// True for quantities whose values are names (residency, staleness).
bool isCategorical(Quantity quantity);

/// The value of all cells that have one; empty if values differ or there is none.
std::optional<float> onlyValue(const std::vector<float>& values);
/// Paints a legend of one line: low end, bar with marks, high end; or named swatches; or, if all cells have the value
/// `only`, one swatch with an explanation. Returns its width.
int paintLegend(QPainter& painter, const QRect& area, const ColourScale& scale, std::optional<float> only,
                const Theme& theme);
/// Explanation next to a colour map of a single value.
QString onlyValueText(Quantity quantity, float value);
/// Colours of a quantity at 1..255; entry 0 is "no value".
ColourTable colourTable(Quantity quantity, const Theme& theme);
/// Hatching for cells without a value.
QBrush missingBrush(const Theme& theme);
/// Black or white, whichever is more readable on `background`.
QColor readableOn(QRgb background);

}  // namespace kvlab
