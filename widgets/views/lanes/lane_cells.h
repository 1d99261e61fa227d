// SPDX-License-Identifier: GPL-3.0-or-later
// Compares the resident tokens of each lane in a layer with the reference. Tokens are indices among those that all
// lanes took. Pure functions of a LanesView; any thread.
#pragma once
#include <memory>
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

}  // namespace kvlab
