// SPDX-License-Identifier: Apache-2.0
// Rows were made by the weights, the arithmetic and the frequencies that the session has now. Each commit notes a
// fingerprint of them (state/row_origins.h), and each row knows the commit that wrote it. A full check reads the
// weights again, so that a change since the last commit is found, too.
#include <algorithm>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/state/row_origins.h"

namespace kvlab {
namespace {

/// The origin in force when a commit was made; null = none is known.
const RowOrigin* originAt(const std::vector<RowOrigin>& origins, std::int32_t commit) {
  const auto later = std::ranges::upper_bound(origins, commit, {}, &RowOrigin::since);
  return later == origins.begin() ? nullptr : &*std::prev(later);
}

/// Tells of the first row of a layer that older weights of the layer, or of one before it, have made.
void checkLayer(const CheckInput& input, const SharedMap& shared, CacheLayer layer,
                const std::vector<std::uint64_t>& now, Findings& findings) {
  const std::size_t upTo = at(input.state.cacheLayers().layerOf(layer)) + 1;
  const Column<std::int32_t>& writers = shared.group->writers;
  std::size_t older = 0, first = 0;
  for (auto i = static_cast<std::size_t>(shared.map->first); i < shared.rows(); ++i) {
    const auto id = static_cast<std::size_t>(shared.map->ledger[i].value());
    const RowOrigin* then = id < writers.size() ? originAt(*input.state.origins, writers[id]) : nullptr;
    if (!then || then->layers.size() != now.size()) continue;
    if (std::equal(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(upTo), then->layers.begin())) continue;
    if (older++ == 0) first = i;
  }
  if (older == 0) return;
  const LedgerId id = shared.map->ledger[first];
  findings.add({layer, first, id},
               shared.name(layer) + ": " + rowName(id) +
                   (older > 1 ? " and " + std::to_string(older - 1) + " more" : "") + (older > 1 ? " were" : " was") +
                   " made by other weights or another arithmetic than the session has");
}

}  // namespace

void checkRowOrigin(const CheckInput& input, Findings& findings) {
  if (!input.state.origins || !input.transformer) return;
  const std::vector<RowOrigin>& origins = *input.state.origins;
  const std::vector<std::uint64_t> now = input.full ? originOf(*input.transformer) : origins.back().layers;
  if (origins.size() == 1 && origins.back().layers == now) return;
  for (const SharedMap& shared : storedMaps(input))
    for (const CacheLayer layer : shared.layers) checkLayer(input, shared, layer, now, findings);
}

}  // namespace kvlab
