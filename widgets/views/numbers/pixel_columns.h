// SPDX-License-Identifier: GPL-3.0-or-later
// Reduces a series to pixel columns: many ticks share a column of a plot, and a curve needs two of them at most.
#pragma once
#include <QVector>
#include <vector>

namespace kvlab {

/// Places in the list of ticks that share a column: from `first` up to, but without, `end`.
struct PixelColumn {
  int first = 0, end = 0;
  bool operator==(const PixelColumn&) const = default;
};

/// The columns of the ticks from `low` to `high`, and of one tick beyond each end, so that lines reach the edges. Ticks
/// ascend. Each tick has a column of its own while there are no more than `count` of them.
std::vector<PixelColumn> pixelColumns(const std::vector<double>& ticks, double low, double high, int count);
/// Places of the least and of the greatest value of each column, ascending. A column without a value, which is a gap in
/// the curve, keeps its first place.
std::vector<int> extremes(const QVector<double>& values, const std::vector<PixelColumn>& columns);
/// Place of the greatest value of each column.
std::vector<int> highest(const QVector<double>& values, const std::vector<PixelColumn>& columns);

}  // namespace kvlab
