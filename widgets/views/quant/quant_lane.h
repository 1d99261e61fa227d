// SPDX-License-Identifier: GPL-3.0-or-later
// What a lane of the quantisation picture draws: bars of one figure, a strip of another, and the axis of the
// bars. Values and pure functions; any thread.
#pragma once
#include <array>

#include "widgets/canvas/colour_map.h"
#include "widgets/views/quant/quant_measure.h"

namespace kvlab {

/// [length] of each row, and how values go onto the lane.
struct QuantSeries {
  QuantFigure figure = QuantFigure::Relative;
  std::vector<float> values;  // empty: the type has none
  ColourScale scale;
  bool any() const { return worst >= 0; }  // a value above zero
  int worst = -1;
  double mean = 0;
};

struct QuantLane {
  bool keys = true;
  QuantSeries bars, strip;
};

/// K and V. Bars of the same figure have one scale, so that they compare, scales excepted. The strip shows the
/// scale of each row, or where that is what the bars show, the relative error.
std::array<QuantLane, 2> quantLanes(const QuantLayer& layer, QuantFigure chosen);

/// The ends of an axis for values from `least` (above zero) to `most`, both at 1, 2 or 5 times a power of ten. At
/// most four powers of ten are shown; what is below them stands at the foot.
ColourScale logAxis(double least, double most);
ColourScale linearAxis(double most);
/// Values to label, ascending, at most `count` and at least two; the ends of a linear axis are among them.
std::vector<double> axisLabels(const ColourScale& scale, int count);

}  // namespace kvlab
