// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/pixel_columns.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {

/// Places of the least and the greatest value; both are the first place where there is no value.
std::pair<int, int> ends(const QVector<double>& values, const PixelColumn& column) {
  int least = column.first, most = column.first;
  for (int i = column.first; i < column.end; ++i) {
    if (!(values[least] <= values[i]) && !std::isnan(values[i])) least = i;
    if (!(values[most] >= values[i]) && !std::isnan(values[i])) most = i;
  }
  return {least, most};
}

}  // namespace

std::vector<PixelColumn> pixelColumns(const std::vector<double>& ticks, double low, double high, int count) {
  const auto size = static_cast<int>(ticks.size());
  const auto place = [&](auto at) { return static_cast<int>(at - ticks.begin()); };
  const int first = std::max(0, place(std::lower_bound(ticks.begin(), ticks.end(), low)) - 1);
  const int end = std::min(size, place(std::upper_bound(ticks.begin(), ticks.end(), high)) + 1);
  const bool own = end - first <= count;
  const auto columnOf = [&](int at) {
    return own ? at : static_cast<int>(std::floor((ticks[static_cast<std::size_t>(at)] - low) / (high - low) * count));
  };
  std::vector<PixelColumn> columns;
  for (int i = first; i < end; ++i)
    if (columns.empty() || columnOf(i) != columnOf(columns.back().first)) columns.push_back({i, i + 1});
    else columns.back().end = i + 1;
  return columns;
}

std::vector<int> extremes(const QVector<double>& values, const std::vector<PixelColumn>& columns) {
  std::vector<int> places;
  for (const PixelColumn& column : columns) {
    const auto [least, most] = ends(values, column);
    places.push_back(std::min(least, most));
    if (least != most) places.push_back(std::max(least, most));
  }
  return places;
}

std::vector<int> highest(const QVector<double>& values, const std::vector<PixelColumn>& columns) {
  std::vector<int> places;
  for (const PixelColumn& column : columns) places.push_back(ends(values, column).second);
  return places;
}

}  // namespace kvlab
