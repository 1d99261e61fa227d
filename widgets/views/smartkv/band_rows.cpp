// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/band_rows.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "widgets/base/storage_groups.h"

namespace kvlab {
namespace {

void fillBands(const Snapshot& s, const ResidencyView& map, BandRows& out) {
  const std::vector<std::int32_t> positions = positionsOf(s, map);
  const auto rows = static_cast<std::int32_t>(positions.size());
  const std::int32_t sinks = out.bounded ? std::min(out.requested.sinks, rows) : 0;
  const std::int32_t window = out.bounded ? std::min(out.requested.window, rows - sinks) : 0;
  out.there = {sinks, rows - sinks - window, window};
  for (std::int32_t i = 0; i < rows; ++i) {
    const std::int32_t p = positions[at(i)];
    if (p < 0) continue;
    const Band band = !out.bounded ? Band::Kept
        : i < sinks                ? Band::Sink
        : i < rows - window        ? Band::Budget
                                   : Band::Window;
    auto& [first, end] = out.extent[at(static_cast<int>(band))];
    first = end == 0 ? p : std::min(first, p);
    end = std::max(end, p + 1);
    out.band[at(p)] = band;
  }
}

/// Finds the positions of the rows of all contests, in one walk over the context.
void placeContests(const Snapshot& s, std::vector<BandRows>& layers) {
  std::map<LedgerId, std::int32_t> wanted;
  for (const BandRows& layer : layers)
    for (const Contest& contest : layer.contests) wanted[contest.challenger] = wanted[contest.loser] = -1;
  if (wanted.empty()) return;
  for (std::int32_t p = 0; p < s.length(); ++p)
    if (const auto found = wanted.find(s.context[at(p)]); found != wanted.end()) found->second = p;
  for (BandRows& layer : layers)
    for (const Contest& contest : layer.contests)
      layer.places.emplace_back(wanted[contest.challenger], wanted[contest.loser]);
}

void fillScores(const std::vector<float>& scores, std::size_t length, BandRows& out) {
  const auto from = scores.begin() + static_cast<std::ptrdiff_t>(at(out.layer) * length);
  out.score.assign(from, from + static_cast<std::ptrdiff_t>(length));
  for (std::size_t p = 0; p < length; ++p)
    if (out.band[p] == Band::Budget && !std::isnan(out.score[p]) && !(out.score[p] >= out.lowest))
      out.lowest = out.score[p];
  if (std::all_of(out.score.begin(), out.score.end(), [](float x) { return std::isnan(x); })) out.score.clear();
}
}  // namespace

QString title(Band band) {
  static constexpr const char* kTitles[] = {"not resident", "kept", "sink", "budget", "window"};
  return QCoreApplication::translate("kvlab::BandRows", kTitles[static_cast<std::size_t>(band)]);
}

std::vector<BandRows> bandRows(const Snapshot& s, const std::vector<float>* scores) {
  std::vector<BandRows> out;
  const auto length = at(s.length());
  for (std::size_t l = 0; s.policies && l < s.layers.size() && l < s.policies->layers.size(); ++l) {
    const LayerAudit& audit = s.policies->layers[l];
    BandRows one;
    one.layer = CacheLayer(static_cast<std::int32_t>(l));
    one.policy = audit.policy;
    one.bounded = audit.bounded;
    one.requested = audit.bands;
    one.contests = audit.contests;
    one.lowest = std::numeric_limits<float>::quiet_NaN();
    one.band.assign(length, Band::Gone);
    if (s.layers[l]) fillBands(s, *s.layers[l], one);
    if (scores && scores->size() >= (l + 1) * length) fillScores(*scores, length, one);
    out.push_back(std::move(one));
  }
  placeContests(s, out);
  return out;
}

}  // namespace kvlab
