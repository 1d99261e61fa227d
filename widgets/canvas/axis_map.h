// SPDX-License-Identifier: GPL-3.0-or-later
// Maps positions on a long axis to pixels, with zoom and pan. Item i covers pixels [pixel(i), pixel(i + 1)). A plain
// value; any thread. Units: device-independent pixels.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>

namespace kvlab {

/// The distance of labels on an axis: 1, 2 or 5 times a power of ten.
inline double roundStep(double atLeast) {
  const double power = std::pow(10.0, std::floor(std::log10(atLeast)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= atLeast * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

struct AxisMap {
  double count = 0;       // items on the axis
  double extent = 1;      // pixels of the whole visible axis
  double first = 0;       // item at pixel 0, fractional
  double scale = 1;       // pixels per item
  double maxScale = 160;  // closest zoom
  bool fitted = true;     // all items stay visible when count or extent change

  double pixel(double item) const { return (item - first) * scale; }
  double item(double pixel) const { return first + pixel / scale; }
  /// The item under a pixel, -1 outside.
  int at(double pixel) const {
    const double i = std::floor(item(pixel));
    return i >= 0 && i < count && pixel < extent ? static_cast<int>(i) : -1;
  }
  double visible() const { return extent / scale; }
  /// The visible items, whole or in part: [begin, end).
  std::pair<int, int> inSight() const {
    const auto within = [this](double i) { return static_cast<int>(std::clamp(i, 0.0, count)); };
    return {within(std::floor(first)), within(std::ceil(first + visible()))};
  }
  double fitScale() const { return std::min(maxScale, extent / std::max(1.0, count)); }

  void fit() {
    first = 0;
    scale = fitScale();
    fitted = true;
  }
  /// Sets count and extent. A fitted axis stays fitted; another one keeps zoom and place.
  void resize(double newCount, double newExtent) {
    const bool atEnd = !fitted && first + visible() >= count - 0.5 && newCount > count;
    count = newCount;
    extent = std::max(1.0, newExtent);
    if (fitted) return fit();
    if (atEnd) first = count - visible();  // keep the newest item visible
    clamp();
  }
  /// Zooms by `factor`; the item at the pixel stays there.
  void zoom(double aroundPixel, double factor) {
    const double keep = item(aroundPixel);
    scale = std::clamp(scale * factor, fitScale(), maxScale);
    first = keep - aroundPixel / scale;
    fitted = scale <= fitScale() * (1 + 1e-9);
    clamp();
  }
  void pan(double pixels) {
    first -= pixels / scale;
    clamp();
  }
  /// Pans as little as possible until the item is fully visible.
  void reveal(double wanted) {
    if (wanted < first) first = wanted;
    if (wanted + 1 > first + visible()) first = wanted + 1 - visible();
    clamp();
  }
  /// Shows [begin, end).
  void show(double begin, double end) {
    scale = std::clamp(extent / std::max(1.0, end - begin), fitScale(), maxScale);
    first = (begin + end) / 2 - visible() / 2;
    fitted = scale <= fitScale() * (1 + 1e-9);
    clamp();
  }
  void clamp() {
    scale = std::clamp(scale, fitScale(), maxScale);
    first = std::clamp(first, 0.0, std::max(0.0, count - visible()));
  }
};

}  // namespace kvlab
