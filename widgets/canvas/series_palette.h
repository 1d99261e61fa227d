// SPDX-License-Identifier: GPL-3.0-or-later
// Colours that distinguish kinds, safe for common colour blindness, with dash patterns as a second sign. Hues after
// Okabe and Ito, "Color Universal Design".
#pragma once
#include <QColor>
#include <QPen>

namespace kvlab {

inline constexpr int kSeriesColours = 8;
QColor seriesColour(int i, bool dark);
/// Pen of series `i`; the dash pattern changes every four series of a panel.
QPen seriesPen(int i, bool dark, double width);

}  // namespace kvlab
