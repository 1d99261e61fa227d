// SPDX-License-Identifier: Apache-2.0
// llama.cpp#5652, koboldcpp#2088: keys that are quantised are turned as codes.
#include "core/bugs/bug_file.h"
#include "core/bugs/written_scales.h"

namespace kvlab {
namespace {

void shiftOfCodes(const CacheState& state, CacheStore& store, const std::function<void()>& turn) {
  std::vector<std::vector<float>> before;
  for (const CacheLayer layer : state.layers())
    before.push_back(keyScales(store.pool(layer), state.map(layer).residentSlots()));
  turn();
  for (const CacheLayer layer : state.layers()) {
    std::size_t next = 0;
    changeScales({store.pool(layer), plain(state.map(layer).residentSlots()), state.length()},
                 [&](const HeadCodes& head) {
                   if (head.key) head.scale = before[at(layer)][next++];
                 });
  }
}

}  // namespace

KVLAB_BUG_KIND(shift_of_codes, .turning = shiftOfCodes)

}  // namespace kvlab
