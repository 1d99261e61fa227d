// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/events/time_axis.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {
constexpr double kSmallestSpan = 1e-3;  // a nanosecond

double roundStep(double atLeast) {
  const double power = std::pow(10.0, std::floor(std::log10(atLeast)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= atLeast * (1 - 1e-9)) return factor * power;
  return 10 * power;
}
}  // namespace

void TimeAxis::setFull(double from, double to) {
  const bool keep = zoomed();
  fullBegin = from;
  fullEnd = std::max(to, from + kSmallestSpan);
  if (!keep) reset();
  clip();
}

void TimeAxis::reset() {
  begin = fullBegin;
  end = fullEnd;
}

void TimeAxis::zoom(double factor, double x, double width) {
  const double anchor = toUs(x, width);
  const double wanted = std::max(span() * factor, kSmallestSpan);
  const double share = (anchor - begin) / span();
  begin = anchor - share * wanted;
  end = begin + wanted;
  clip();
}

void TimeAxis::pan(double pixels, double width) {
  const double by = pixels / width * span();
  const double kept = span();
  begin = std::clamp(begin - by, fullBegin, std::max(fullBegin, fullEnd - kept));
  end = begin + kept;
}

void TimeAxis::show(double from, double to) {
  const double margin = std::max(to - from, kSmallestSpan) / 20;
  begin = from - margin;
  end = to + margin;
  clip();
}

std::vector<double> TimeAxis::marks(double width, double pixels) const {
  std::vector<double> values;
  if (width <= 0 || span() <= 0) return values;
  const double step = roundStep(span() * pixels / width);
  for (double k = std::ceil(begin / step - 1e-9); k * step <= end + step * 1e-9; ++k) values.push_back(k * step);
  return values;
}

void TimeAxis::clip() {
  begin = std::clamp(begin, fullBegin, fullEnd - kSmallestSpan);
  end = std::clamp(end, begin + kSmallestSpan, fullEnd);
}

}  // namespace kvlab
