// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/lanes/lane_cells.h"

#include <algorithm>

namespace kvlab {
namespace {

/// [ledger ids] index among the taken tokens, -1 = none.
std::vector<std::int32_t> placesOf(const LaneView& lane) {
  std::vector<std::int32_t> out(lane.snapshot->ledger.size(), -1);
  for (std::size_t i = 0; i < lane.taken.size(); ++i)
    if (const auto id = at(lane.taken[i].value()); id < out.size()) out[id] = static_cast<std::int32_t>(i);
  return out;
}

/// [tokens] 1 = resident.
std::vector<std::uint8_t> residents(const ResidencyView& map, const std::vector<std::int32_t>& places,
                                    std::size_t tokens) {
  std::vector<std::uint8_t> out(tokens);
  for (std::size_t i = at(map.first); i < map.size(); ++i) {
    const auto id = at(map.ledger[i].value());
    if (id < places.size() && places[id] >= 0 && at(places[id]) < tokens) out[at(places[id])] = 1;
  }
  return out;
}

LaneColumn compared(const std::vector<std::uint8_t>& own, const std::vector<std::uint8_t>& reference) {
  auto cells = std::make_shared<std::vector<LaneCell>>(own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    (*cells)[i] =
        own[i] ? (reference[i] ? LaneCell::Same : LaneCell::Extra) : (reference[i] ? LaneCell::Lost : LaneCell::Gone);
  return cells;
}

}  // namespace

int LaneCells::count(int layer, LaneCell cell) const {
  const std::vector<LaneCell>& cells = *layers[at(layer)];
  return static_cast<int>(std::count(cells.begin(), cells.end(), cell));
}

int linesPerLayer(const LanesView& view) {
  std::size_t most = 1;
  for (const LaneView& lane : view.lanes) most = std::max(most, lane.snapshot->layers.size());
  return view.lanes.empty()
      ? 1
      : static_cast<int>(most / std::max<std::size_t>(1, view.lanes.front().snapshot->layers.size()));
}

std::vector<LaneCells> laneCells(const LanesView& view, std::optional<int> only) {
  std::vector<LaneCells> out;
  if (view.lanes.empty()) return out;
  const LaneView& first = view.lanes.front();
  const auto per = at(linesPerLayer(view)), lines = per * first.snapshot->layers.size();
  const auto mapOf = [&](const LaneView& lane, std::size_t line) {
    return lane.snapshot->layers[line * lane.snapshot->layers.size() / lines];
  };
  const std::vector<std::int32_t> base = placesOf(first);
  for (const LaneView& lane : view.lanes) {
    const std::vector<std::int32_t> places = placesOf(lane);
    const std::size_t tokens = std::min(lane.taken.size(), first.taken.size());  // a lane that left has fewer tokens
    LaneCells cells;
    for (std::size_t line = 0; line < lines && !lane.snapshot->layers.empty(); ++line) {
      if (only && at(*only) != line / per) {
        cells.layers.push_back(nullptr);
        continue;
      }
      const bool alike = line > 0 && cells.layers.back() && mapOf(lane, line) == mapOf(lane, line - 1) &&
          mapOf(first, line) == mapOf(first, line - 1);
      cells.layers.push_back(alike ? cells.layers.back()
                                   : compared(residents(*mapOf(lane, line), places, tokens),
                                              residents(*mapOf(first, line), base, tokens)));
    }
    out.push_back(std::move(cells));
  }
  return out;
}

int placeOf(const LaneView& lane, LedgerId id) {
  const auto found = std::find(lane.taken.begin(), lane.taken.end(), id);
  return found == lane.taken.end() ? -1 : static_cast<int>(found - lane.taken.begin());
}

}  // namespace kvlab
