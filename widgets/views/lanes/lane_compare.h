// SPDX-License-Identifier: GPL-3.0-or-later
// Compares each lane with the reference: the resident tokens in a layer, and the surprise at each token, in nats.
// Tokens are indices among those that all lanes took. Pure functions of a LanesView; any thread.
#pragma once
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/api/lanes_view.h"

namespace kvlab {

/// Ascending importance: if several tokens share a pixel, the highest is shown.
enum class LaneCell : std::uint8_t {
  Gone,   // neither this lane nor the reference has it
  Same,   // both have it
  Extra,  // only this lane has it
  Lost    // only the reference has it
};

inline constexpr int kLaneCells = 4;

/// [tokens]; equal layers share one column; null for layers that were not requested.
using LaneColumn = std::shared_ptr<const std::vector<LaneCell>>;
struct LaneCells {
  std::vector<LaneColumn> layers;
  /// Number of tokens of a layer in that state; the layer must have been requested.
  int count(int layer, LaneCell cell) const;
};

/// Lines per layer of the reference: more than one if a lane keeps rows by KV head and the reference does not.
int linesPerLayer(const LanesView& view);
/// [lanes] cells of one layer of the reference, or of all. LaneCells::layers counts lines.
std::vector<LaneCells> laneCells(const LanesView& view, std::optional<int> only = {});

/// Index of a lane's ledger id among the taken tokens, -1 = none.
int placeOf(const LaneView& lane, LedgerId id);

/// The losses of lane 0; for every other lane, its losses minus those of lane 0.
struct LaneLosses {
  std::vector<float> values;  // [tokens] NaN: one of the two lanes did not measure the token
  std::int64_t measured = 0;
  double mean = std::nan("");  // mean over the measured tokens
  int most = -1, least = -1;   // tokens with the largest and the smallest value; -1 = nothing is measured

  bool any() const { return measured > 0; }
  /// True if every measured difference is zero.
  bool flat() const { return any() && at(most) == 0 && at(least) == 0; }
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
