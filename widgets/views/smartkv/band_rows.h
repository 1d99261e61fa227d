// SPDX-License-Identifier: GPL-3.0-or-later
// Which band of a layer each token of the context is in: the first rows, those kept by score, the last
// ones, or none because its row has left. Pure functions of a snapshot; any thread.
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
  Bands requested;           // of no meaning where not bounded
  Bands there;               // rows in each band now
  std::vector<Band> band;    // [length]
  std::vector<float> score;  // [length] not-a-number where it is not known; empty where nothing is
  std::vector<Contest> contests;
  std::vector<std::pair<std::int32_t, std::int32_t>>
      places;  // positions of challenger and loser, -1 = not in the context
  std::array<std::pair<std::int32_t, std::int32_t>, 5>
      extent{};      // of each band: first position and the one behind the last
  float lowest = 0;  // of the budget's scores; not-a-number where there is none

  std::int32_t rows() const { return there.capacity(); }
};

/// scores: [layers][length] of the shown tick, or null.
std::vector<BandRows> bandRows(const Snapshot& shown, const std::vector<float>* scores);

}  // namespace kvlab
