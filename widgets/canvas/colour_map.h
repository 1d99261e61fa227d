// SPDX-License-Identifier: GPL-3.0-or-later
// Colours for values: perceptually even, colour-blind-safe maps, the scale that takes a value to a
// place on its map, and the legend. Index 0 of every table means "no value". Values; GUI thread for
// the painter, else any.
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

/// How values go onto a map: ends of the range and the bending in between.
struct ColourScale {
  enum class Bend : std::uint8_t { Linear, Root, Log };
  Quantity quantity = Quantity::Brightness;
  float low = 0, high = 1;
  Bend bend = Bend::Linear;  // Log needs low > 0 and is a polygon with a corner at every power of 2

  /// 0..1; not-a-number stays so. Residency is turned round: absent rows are the ones that matter
  /// and must win where rows share a pixel.
  float unit(float value) const;
  /// 0 for not-a-number, else 1..255.
  std::uint8_t index(float value) const;
  /// index() of many values; both have the same size.
  void quantise(std::span<const float> values, std::span<std::uint8_t> out) const;
  bool operator==(const ColourScale&) const = default;
};

/// The scale of a quantity: fixed ends where it has them, else the finite range of the values.
ColourScale scaleFor(Quantity quantity, const std::vector<float>& values);
/// The quantity's title inside a line of text: "drift of V", "K norm".
QString titleInText(Quantity quantity);
/// A value as people read it: "212", "0.031", "context edited"; "not resident" for not-a-number.
QString valueText(Quantity quantity, float value);
/// The same in as few letters as a cell has room for: "edited".
QString shortValueText(Quantity quantity, float value);
/// True for quantities whose values are names (residency, staleness).
bool isCategorical(Quantity quantity);

/// The value that all cells have which have one; nothing if they differ or none has.
std::optional<float> onlyValue(const std::vector<float>& values);
/// Legend in one line: low end, bar with marks, high end; or named swatches; or, where all cells have
/// the `only` value, one swatch and why. Returns its width.
int paintLegend(QPainter& painter, const QRect& area, const ColourScale& scale, std::optional<float> only,
                const Theme& theme);
/// What a colour map of a single value should say beside it.
QString onlyValueText(Quantity quantity, float value);
/// The colours of a quantity at 1..255 and, at 0, of "no value".
ColourTable colourTable(Quantity quantity, const Theme& theme);
/// Hatching for cells without a value.
QBrush missingBrush(const Theme& theme);
/// Black or white, whichever reads better on `background`.
QColor readableOn(QRgb background);

}  // namespace kvlab
