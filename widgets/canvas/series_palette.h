// SPDX-License-Identifier: GPL-3.0-or-later
// Colours that tell kinds apart, safe for the common colour blindnesses, and the dash patterns that
// go with them so that colour never stands alone. Hues after Okabe and Ito, "Color Universal Design".
#pragma once
#include <QColor>
#include <QPen>

namespace kvlab {

inline constexpr int kSeriesColours = 8;
QColor seriesColour(int i, bool dark);
/// A line of series `i`; the dash changes every four series of one panel.
QPen seriesPen(int i, bool dark, double width);

}  // namespace kvlab
