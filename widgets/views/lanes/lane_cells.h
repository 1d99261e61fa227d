// SPDX-License-Identifier: GPL-3.0-or-later
// Which tokens each lane has in a layer, against the reference. Pure functions of a view of lanes; any
// thread. Tokens are places among those that all lanes took.
#pragma once
#include <memory>
#include <vector>

#include "core/api/lanes_view.h"

namespace kvlab {

/// Ascending by how much it matters: where several tokens share a pixel the greatest is shown.
enum class LaneCell : std::uint8_t {
  Gone,   // neither this lane nor the reference has it
  Same,   // both have it
  Extra,  // the reference has lost it
  Lost    // the reference has it
};

/// [tokens]; layers that are alike share one, and layers that were not asked for have none.
using LaneColumn = std::shared_ptr<const std::vector<LaneCell>>;
struct LaneCells {
  std::vector<LaneColumn> layers;
  /// Tokens of a layer in that state; the layer was asked for.
  int count(int layer, LaneCell cell) const;
};

/// Lines that a layer of the reference has: more than one where a lane keeps rows by KV head and the reference does
/// not.
int linesPerLayer(const LanesView& view);
/// [lanes], of one layer of the reference, or of all. LaneCells::layers counts lines.
std::vector<LaneCells> laneCells(const LanesView& view, std::optional<int> only = {});

/// The place of a ledger id of that lane among the taken tokens, -1 = none.
int placeOf(const LaneView& lane, LedgerId id);

}  // namespace kvlab
