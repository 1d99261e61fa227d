// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/map/map_picture.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {
std::vector<std::int32_t> editedPositions(const Snapshot& s) {
  std::vector<std::int32_t> out;
  for (std::size_t p = 0; p < s.context.size(); ++p) {
    if (!s.ledger.contains(s.context[p])) continue;
    const Source source = s.ledger[s.context[p]].source;
    if (source == Source::Replacement || source == Source::Insertion) out.push_back(static_cast<std::int32_t>(p));
  }
  return out;
}

/// Positions that leave, or before which rows come.
std::vector<std::int32_t> changedPositions(const PlanGhosts& ghosts, std::int32_t length) {
  std::vector<std::int32_t> out = ghosts.leaving;
  for (const PlanGhosts::Added& one : ghosts.added)
    if (one.before < length) out.push_back(one.before);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}
}  // namespace

std::vector<StaleRun> staleRuns(const Snapshot& s) {
  std::vector<StaleRun> runs;
  if (!s.exactness) return runs;
  for (std::size_t p = 0; p < s.exactness->size(); ++p) {
    const Exactness why = (*s.exactness)[p];
    const auto at = static_cast<std::int32_t>(p);
    if (why == Exactness::Exact) continue;
    if (!runs.empty() && runs.back().end == at && runs.back().why == why) ++runs.back().end;
    else runs.push_back({at, at + 1, why});
  }
  return runs;
}

std::shared_ptr<const MapPicture> makeMapPicture(SnapshotPtr snapshot, std::shared_ptr<const Tile> tile,
                                                 const ScaleChoice& choice) {
  auto picture = std::make_shared<MapPicture>();
  picture->colours = tileColours(*tile, *snapshot, choice);
  picture->edited = editedPositions(*snapshot);
  picture->ghosts = planGhosts(*snapshot);
  picture->pending = changedPositions(picture->ghosts, snapshot->length());
  picture->stale = staleRuns(*snapshot);
  picture->findings = FindingMarks(*snapshot);
  picture->tile = std::move(tile);
  picture->snapshot = std::move(snapshot);
  return picture;
}

std::shared_ptr<const Tile> tileFromSnapshot(const Snapshot& s, Quantity quantity) {
  if (quantity != Quantity::Residency && quantity != Quantity::Age && quantity != Quantity::Staleness) return nullptr;
  auto tile = std::make_shared<Tile>();
  tile->request.quantity = quantity;
  tile->tick = s.tick;
  tile->layers = static_cast<int>(s.layers.size());
  tile->positions = s.length();
  const auto valueAt = [&](std::size_t p) {
    if (quantity == Quantity::Residency) return 1.0f;
    if (quantity == Quantity::Age) return static_cast<float>(s.tick.value() - s.ledger[s.context[p]].born.value());
    return s.exactness && p < s.exactness->size() ? static_cast<float>((*s.exactness)[p]) : NAN;
  };
  for (std::size_t layer = 0; layer < s.layers.size(); ++layer) {
    const std::vector<bool> here = heldRows(s, CacheLayer(static_cast<int>(layer)));
    for (std::size_t p = 0; p < s.context.size(); ++p) {
      tile->values.push_back(here[p] ? valueAt(p) : quantity == Quantity::Residency ? 0.0f : NAN);
    }
  }
  return tile;
}

}  // namespace kvlab
