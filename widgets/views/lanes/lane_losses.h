// SPDX-License-Identifier: GPL-3.0-or-later
// The difference in surprise between each lane and the reference for a token, in nats. Tokens are indices among those
// that all lanes took. Pure functions; any thread.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/api/lanes_view.h"

namespace kvlab {

/// The losses of lane 0; for every other lane, its losses minus those of lane 0.
struct LaneLosses {
  std::vector<float> values;  // [tokens] NaN: one of the two lanes did not measure the token
  std::int64_t measured = 0;
  double mean = std::nan("");  // mean over the measured tokens
  int most = -1, least = -1;   // tokens with the largest and the smallest value; -1 = nothing is measured

  bool any() const { return measured > 0; }
  /// True if every measured difference is zero.
  bool flat() const;
  /// The value of a token; NaN outside.
  float at(int token) const;
};

/// [lanes]
std::vector<LaneLosses> laneLosses(const LanesView& view);
/// The end of a symmetrical range for the differences of some lanes: the 99th percentile of their sizes, with two
/// significant digits, and not below kLeastRange.
float differenceRange(std::span<const LaneLosses> lanes);
constexpr float kLeastRange = 0.01f;

/// The value of largest size; NaN if none is measured.
float strongest(std::span<const float> values);

}  // namespace kvlab
