// SPDX-License-Identifier: GPL-3.0-or-later
// The content of a band: bars of one figure, a strip of another, and the axis of the bars. Values and pure functions;
// any thread.
#pragma once
#include <array>

#include "widgets/canvas/colour_map.h"
#include "widgets/views/quant/quant_measure.h"

namespace kvlab {

/// One figure of each row, [length], and its scale.
struct QuantSeries {
  QuantFigure figure = QuantFigure::Relative;
  std::vector<float> values;  // empty: this type has no such figure
  ColourScale scale;
  bool any() const { return worst >= 0; }  // true if a value is above zero
  int worst = -1;
  double mean = 0;
};

struct QuantLane {
  bool keys = true;
  QuantSeries bars, strip;
};

/// Bands of K and V. Bars of the same figure share one scale, except scales of rows. The strip shows each row's scale;
/// if the bars show the scale, it shows the relative error.
std::array<QuantLane, 2> quantLanes(const QuantLayer& layer, QuantFigure chosen);

/// A logarithmic axis for values from `least` (above zero) to `most`; both ends are 1, 2 or 5 times a power of ten. It
/// covers at most four powers of ten; smaller values are drawn at the foot.
ColourScale logAxis(double least, double most);
ColourScale linearAxis(double most);
/// Labelled values, ascending, at most `count` and at least two; a linear axis labels its ends.
std::vector<double> axisLabels(const ColourScale& scale, int count);

}  // namespace kvlab
