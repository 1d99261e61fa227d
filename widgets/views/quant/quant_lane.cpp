// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/quant/quant_lane.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {

constexpr double kSteps[] = {1, 2, 5};
constexpr double kDecades = 1e4;

/// The nearest 1, 2 or 5 times a power of ten that is at least `value`, or with `down` at most.
double round125(double value, bool down) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9)), lead = value / power;
  if (down) return power * (lead >= 5 - 1e-6 ? 5 : lead >= 2 - 1e-6 ? 2 : 1);
  return power * (lead <= 1 + 1e-6 ? 1 : lead <= 2 + 1e-6 ? 2 : lead <= 5 + 1e-6 ? 5 : 10);
}

QuantSeries series(const QuantTensor& tensor, QuantFigure figure) {
  QuantSeries out;
  out.figure = figure;
  out.values = rowValues(tensor, figure);
  out.worst = worstRow(out.values);
  out.mean = meanOf(out.values);
  return out;
}

double most(const QuantSeries& s) { return s.any() ? double(s.values[at(s.worst)]) : 0; }

double least(const QuantSeries& s) {
  double out = INFINITY;
  for (const float value : s.values)
    if (value > 0) out = std::min(out, double(value));
  return out;
}

ColourScale axisFor(QuantFigure figure, double least, double most) {
  return figure == QuantFigure::AtMax ? linearAxis(most) : logAxis(least, most);
}

}  // namespace

std::array<QuantLane, 2> quantLanes(const QuantLayer& layer, QuantFigure chosen) {
  std::array<QuantLane, 2> lanes;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    QuantLane& lane = lanes[i];
    lane.keys = i == 0;
    lane.bars = series(layer.of(lane.keys), figureOf(lane.keys, chosen));
    lane.strip = series(layer.of(lane.keys), chosen == QuantFigure::Scale ? QuantFigure::Relative : QuantFigure::Scale);
    lane.bars.scale = axisFor(lane.bars.figure, least(lane.bars), most(lane.bars));
    lane.strip.scale = logAxis(least(lane.strip), most(lane.strip));
  }
  QuantSeries &k = lanes[0].bars, &v = lanes[1].bars;
  if (k.any() && v.any() && k.figure == v.figure && k.figure != QuantFigure::Scale)
    k.scale = v.scale = axisFor(k.figure, std::min(least(k), least(v)), std::max(most(k), most(v)));
  return lanes;
}

ColourScale logAxis(double least, double most) {
  ColourScale scale{Quantity::QuantK, 1e-4f, 1, ColourScale::Curve::Log};
  if (!(most > 0)) return scale;
  const double high = round125(most, false), low = round125(std::max(least, high / kDecades), true);
  scale.high = static_cast<float>(high);
  scale.low = static_cast<float>(low < high ? low : round125(high * 0.45, true));
  return scale;
}

ColourScale linearAxis(double most) {
  return {Quantity::QuantK, 0, static_cast<float>(most > 0 ? round125(most, false) : 1), ColourScale::Curve::Linear};
}

std::vector<double> axisLabels(const ColourScale& scale, int count) {
  const double low = double(scale.low), high = double(scale.high);
  if (scale.curve == ColourScale::Curve::Linear) {
    const auto parts = static_cast<int>(high / std::max(1.0, round125(high / 5.5, false)) + 0.5);  // whole numbers
    if (parts >= std::max(2, count)) return {low, high};
    std::vector<double> even;
    for (int i = 0; i <= parts; ++i) even.push_back(high * i / parts);
    return even;
  }
  const auto inside = [&](double value) { return value > low * 0.999 && value < high * 1.001; };
  std::vector<double> all, powers;
  for (double power = std::pow(10, std::floor(std::log10(low) + 1e-6)); power < high * 1.001; power *= 10)
    for (const double step : kSteps) {
      if (!inside(step * power)) continue;
      all.push_back(step * power);
      if (step < 1.5) powers.push_back(power);
    }
  const auto fits = [&](const std::vector<double>& list) {
    return static_cast<int>(list.size()) <= std::max(2, count);
  };
  if (fits(all)) return all;
  for (std::size_t apart = 1; apart < powers.size(); ++apart) {
    std::vector<double> some;
    for (std::size_t i = (powers.size() - 1) % apart; i < powers.size(); i += apart) some.push_back(powers[i]);
    if (fits(some)) return some;
  }
  return {low, high};
}

}  // namespace kvlab
