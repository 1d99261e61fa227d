// SPDX-License-Identifier: GPL-3.0-or-later
// The band of each context token in a layer: sinks, rows kept by score, window, or none if the row was evicted. Pure
// functions of a snapshot; any thread.
#pragma once
#include <QString>
#include <array>
#include <utility>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

enum class Band : std::uint8_t { Gone, Kept, Sink, Budget, Window };  // Kept: the layer has no bands
QString title(Band band);

struct BandRows {
  CacheLayer layer;
  std::string policy;
  bool bounded = false;
  Bands requested;           // undefined if the policy is not bounded
  Bands there;               // resident rows in each band
  std::vector<Band> band;    // [length]
  std::vector<float> score;  // [length] NaN = unknown; empty if all are unknown
  std::vector<Contest> contests;
  std::vector<std::pair<std::int32_t, std::int32_t>>
      places;  // positions of challenger and loser, -1 = not in the context
  std::array<std::pair<std::int32_t, std::int32_t>, 5>
      extent{};      // first position of each band, and the one after its last
  float lowest = 0;  // lowest score of the budget; NaN = none

  std::int32_t rows() const { return there.capacity(); }
};

/// scores: [layers][length] of the shown tick, or null.
std::vector<BandRows> bandRows(const Snapshot& shown, const std::vector<float>* scores);

}  // namespace kvlab
