// SPDX-License-Identifier: Apache-2.0
#include "core/edit/rotary_rows.h"

namespace kvlab {

std::vector<std::int32_t> rotaryRowsOf(const CacheState& state, const ResidencyView& map, Rotary& rotary) {
  std::vector<std::int32_t> out(map.size());
  std::size_t position = 0;
  for (std::size_t i = 0; i < out.size(); ++i, ++position) {
    while (position < state.context.size() && state.context[position] != map.ledger[i]) ++position;
    const bool there = position < state.context.size();  // also where a map is damaged
    out[i] = rotary.index(map.phase(i), there ? state.kind->blurAt(Position(static_cast<int>(position))) : 0);
  }
  return out;
}

}  // namespace kvlab
