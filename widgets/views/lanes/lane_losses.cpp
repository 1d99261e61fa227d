// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/lanes/lane_losses.h"

#include <algorithm>

namespace kvlab {
namespace {

/// [tokens of both]
std::vector<float> differences(std::span<const float> own, std::span<const float> reference) {
  std::vector<float> out(std::min(own.size(), reference.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = own[i] - reference[i];
  return out;
}

LaneLosses summarised(std::vector<float> values) {
  LaneLosses out;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    if (!out.any() || values[i] > values[static_cast<std::size_t>(out.most)]) out.most = static_cast<int>(i);
    if (!out.any() || values[i] < values[static_cast<std::size_t>(out.least)]) out.least = static_cast<int>(i);
    sum += static_cast<double>(values[i]);
    ++out.measured;
  }
  if (out.any()) out.mean = sum / static_cast<double>(out.measured);
  out.values = std::move(values);
  return out;
}

/// The next larger number with two significant digits.
float roundedUp(float value) {
  const double step = std::pow(10.0, std::floor(std::log10(static_cast<double>(value))) - 1);
  return static_cast<float>(std::ceil(static_cast<double>(value) / step - 1e-6) * step);
}

}  // namespace

bool LaneLosses::flat() const { return any() && at(most) == 0 && at(least) == 0; }

float LaneLosses::at(int token) const {
  return token >= 0 && static_cast<std::size_t>(token) < values.size() ? values[static_cast<std::size_t>(token)]
                                                                       : std::nanf("");
}

std::vector<LaneLosses> laneLosses(const LanesView& view) {
  std::vector<LaneLosses> out;
  if (view.lanes.empty()) return out;
  const std::span<const float> reference = view.lanes.front().losses.span();
  out.push_back(summarised({reference.begin(), reference.end()}));
  for (std::size_t lane = 1; lane < view.lanes.size(); ++lane)
    out.push_back(summarised(differences(view.lanes[lane].losses.span(), reference)));
  return out;
}

float differenceRange(std::span<const LaneLosses> lanes) {
  std::vector<float> sizes;
  for (const LaneLosses& lane : lanes)
    for (const float value : lane.values)
      if (std::isfinite(value)) sizes.push_back(std::abs(value));
  if (sizes.empty()) return kLeastRange;
  const auto rank = sizes.begin() + static_cast<std::ptrdiff_t>((99 * sizes.size() + 99) / 100 - 1);
  std::nth_element(sizes.begin(), rank, sizes.end());
  return *rank > kLeastRange ? roundedUp(*rank) : kLeastRange;
}

float strongest(std::span<const float> values) {
  float out = std::nanf("");
  for (const float value : values)
    if (std::isnan(out) || std::abs(value) > std::abs(out)) out = value;
  return out;
}

}  // namespace kvlab
