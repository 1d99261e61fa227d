// SPDX-License-Identifier: GPL-3.0-or-later
// Times the map without an engine, for `kvlab bench`. Needs a QApplication; GUI thread.
#pragma once
#include <QSize>

namespace kvlab {

/// Milliseconds, medians over `rounds`.
struct MapFrameTimes {
  double newData = 0;  // a new tile: colour indices and pyramid (made on a pool thread in the window)
  double paint = 0;    // everything in sight repainted, the whole context in sight
  double zoomed = 0;   // the same, zoomed to 500 positions
};
MapFrameTimes timeMap(int layers, int positions, QSize devicePixels, int rounds = 9);

}  // namespace kvlab
