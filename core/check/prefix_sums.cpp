// SPDX-License-Identifier: Apache-2.0
// Prefix sums, which exactness labels use, match the map and the context. They may be shorter, but never different.
// Only full checks test this.
#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/state/provenance.h"

namespace kvlab {
namespace {

template <class Word>
void checkSums(const Column<std::uint64_t>& sums, std::size_t rows, Word word, const Place& place,
               const std::string& what, Findings& findings) {
  if (sums.size() > rows + 1) return findings.add(place, what + ": there are sums beyond the last row");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != sum)
      return findings.add({place.layer, i, {}},
                          what + ": the sum before index " + std::to_string(i) + " is not that of the rows");
    if (i < rows) sum += word(i);
  }
}

}  // namespace

void checkPrefixSums(const CheckInput& input, Findings& findings) {
  if (!input.full) return;
  const CacheState& state = input.state;
  checkSums(
      state.contextSums, state.context.size(), [&](std::size_t i) { return idWord(state.context[i]); }, {}, "context",
      findings);
  for (const SharedMap& shared : sharedMaps(input)) {
    const ResidencyView& map = *shared.map;
    const Place place{shared.first(), {}, {}};
    checkSums(
        shared.group->idSums, shared.rows(), [&](std::size_t i) { return idWord(map.ledger[i]); }, place,
        shared.name() + ", ids", findings);
    checkSums(
        shared.group->phasedSums, shared.rows(),
        [&](std::size_t i) { return phasedWord(map.ledger[i], map.phases[i]); }, place, shared.name() + ", phases",
        findings);
  }
}

}  // namespace kvlab
