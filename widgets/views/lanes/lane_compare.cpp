// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/lanes/lane_compare.h"

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
