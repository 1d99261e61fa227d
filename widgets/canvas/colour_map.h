// SPDX-License-Identifier: GPL-3.0-or-later
// Colours for values: perceptually even maps that are safe for colour blindness, and their legend. Values; painting on
// the GUI thread, the rest on any thread.
//
// Control values: viridis, cividis, inferno (matplotlib, CC0), PuOr (ColorBrewer, Apache-2.0),
// categories after Okabe and Ito (2008).
#pragma once
#include <QColor>
#include <QPainter>
#include <QRect>
#include <QString>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "core/api/tile.h"
#include "widgets/base/theme.h"
#include "widgets/canvas/colour_scale.h"

namespace kvlab {

/// 256 colours; kUnmeasured and kGone are Theme::missing, kFirstColour..255 run along the map.
using ColourTable = std::array<QRgb, 256>;
ColourTable colourTable(MapKind kind, const Theme& theme);
/// The colour at a share of the map, 0..1.
inline QColor colourAt(const ColourTable& table, double share) {
  return QColor(table[at(std::max<long>(kFirstColour, 1 + std::lround(share * 254)))]);
}

/// The quantity's title for use within a sentence: "drift of V", "K norm".
QString titleInText(Quantity quantity);
/// A readable value: "212", "0.031", "context edited"; "not resident" for NaN.
QString valueText(Quantity quantity, float value);
/// A short form that fits into a cell: "edited".
QString shortValueText(Quantity quantity, float value);

/// The value of all cells that have one; empty if values differ or there is none.
std::optional<float> onlyValue(std::span<const float> values);
/// The content of a legend of colours.
struct ColourLegend {
  ColourScales scales;
  std::optional<float> only = {};        // the value of all cells
  bool gone = true, unmeasured = false;  // cells without a value
  Quantity quantity() const { return scales.first().quantity; }
};
/// The ends of the scale, its curve and its range, in words.
QString legendText(const ColourLegend& legend);
/// The curve and the range alone.
QString legendWords(const ColourLegend& legend);
/// Paints a legend of one line: low end, bar, high end, and the words that there is room for; or named swatches; or, if
/// all cells have one value, one swatch with an explanation. Returns its width.
int paintLegend(QPainter& painter, const QRect& area, const ColourLegend& legend, const Theme& theme);
/// Colours of a quantity at kFirstColour..255.
ColourTable colourTable(Quantity quantity, const Theme& theme);
/// Hatching for cells whose row is gone, dots for cells that nobody measured.
QBrush missingBrush(const Theme& theme);
QBrush unmeasuredBrush(const Theme& theme);
/// Black or white, whichever is more readable on `background`.
QColor readableOn(QRgb background);

}  // namespace kvlab
