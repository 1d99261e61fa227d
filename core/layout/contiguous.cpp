// SPDX-License-Identifier: Apache-2.0
#include "core/layout/contiguous.h"

namespace kvlab {

Result<std::int64_t> Contiguous::settle(Settling& settling, LayoutContext& context) const {
  const ResidencyView& map = *settling.group.map;
  const auto rows = static_cast<std::int32_t>(map.size());
  const auto& slots = static_cast<const RunSlots&>(context.store.slots(settling.layers.front()));
  const bool dropped = map.resident() && map.residentSlots()[0].value() % slots.lap() != 0;  // by the window
  if (!settling.appended || dropped) {
    const std::int32_t base = baseOf(map, slots);
    for (const CacheLayer layer : settling.layers)
      settling.moves.push_back(KV_TRY(arranging(map, context.store.pool(layer), base)));
    auto settled = std::make_shared<ResidencyView>(map);
    settled->slotOf = Column<Slot>::make(map.size(), [&](Slot* out) {
      for (std::int32_t i = 0; i < rows; ++i) out[i] = Slot(i < map.first ? -1 : base + i - map.first);
    });
    settling.group.map = std::move(settled);
  }
  for (const CacheLayer layer : settling.layers)
    context.store.slots(layer).restart(settling.group.map->residentSlots());
  return std::int64_t{0};
}

}  // namespace kvlab
