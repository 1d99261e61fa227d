// SPDX-License-Identifier: GPL-3.0-or-later
// The common time axis of a column of bars: microseconds to pixels and back, zoom at a point, round tick marks. A plain
// value.
#pragma once
#include <vector>

namespace kvlab {

struct TimeAxis {
  double begin = 0, end = 1;          // shown range, microseconds
  double fullBegin = 0, fullEnd = 1;  // the whole tick

  void setFull(double from, double to);
  void reset();
  bool zoomed() const { return begin > fullBegin || end < fullEnd; }
  double span() const { return end - begin; }
  double toX(double us, double width) const { return (us - begin) / span() * width; }
  double toUs(double x, double width) const { return begin + x / width * span(); }
  /// factor < 1 zooms in; the time at `x` stays there.
  void zoom(double factor, double x, double width);
  void pan(double pixels, double width);
  /// Shows [from, to) with a margin of 1/20 on both sides.
  void show(double from, double to);
  /// Round values inside the range, at least `pixels` apart.
  std::vector<double> marks(double width, double pixels) const;

 private:
  void clip();
};

}  // namespace kvlab
