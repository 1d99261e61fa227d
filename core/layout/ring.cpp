// SPDX-License-Identifier: Apache-2.0
// The common part of the ring layouts. The pool is a circle of slots larger than the window: a pass computes rows
// ahead of the pointer, and a commit moves the pointer, not rows. Rows behind the window stay counted in
// the map and lose their slots. A prompt that is longer than the free slots goes through in pieces, and each piece
// overwrites rows that no later piece sees. semantics.md, section 7. Engine thread.
#include "core/layout/layout.h"

namespace kvlab {
namespace {

/// The head slot at which the fewest of the rows [first, size) have to move.
std::int32_t cheapestHead(const ResidencyView& map, std::int32_t first, std::int32_t capacity) {
  std::vector<std::int32_t> votes(at(capacity));
  std::int32_t best = 0;
  for (auto i = at(first); i < map.size(); ++i) {
    const std::int32_t head = (map.slotOf[i].value() - static_cast<std::int32_t>(i) + first) % capacity;
    const std::int32_t wrapped = head < 0 ? head + capacity : head;
    if (++votes[at(wrapped)] > votes[at(best)]) best = wrapped;
  }
  return best;
}

/// The smallest base from `before` on that matches the pointer, or one lap less if it would exceed the offset.
std::int64_t fittingBase(const RingState& ring, std::int64_t before) {
  const std::int64_t lap = ring.capacity, ahead = (ring.offset - before - ring.pointer()) % lap;
  const std::int64_t base = before + (ahead + lap) % lap;
  return base <= ring.offset ? base : base - lap;
}

/// Rows [first, size) of each layer go to the slots head, head + 1, ..., with wrap-around. Writes these slots into the
/// map.
Status arrange(Settling& settling, LayoutContext& context, std::int32_t first, std::int32_t head,
               std::int32_t capacity) {
  const ResidencyView& map = *settling.group.map;
  std::vector<kernels::RowMove> moves;
  std::vector<Slot> slots(map.slotOf.begin(), map.slotOf.end());
  for (auto i = at(first); i < slots.size(); ++i) {
    const Slot to((head + static_cast<std::int32_t>(i) - first) % capacity);
    addMove(moves, slots[i].value(), to.value());
    slots[i] = to;
  }
  for (const CacheLayer layer : settling.layers)
    settling.moves.push_back(KV_TRY(ReadyMoves::of(context.store.pool(layer), moves)));
  auto settled = std::make_shared<ResidencyView>(map);
  settled->slotOf.assign(slots);
  settling.group.map = std::move(settled);
  return ok();
}

/// The rows, as indices of the map, from the first to the last one that the commit made: the newest of those it
/// appended, else those in slots that were free before.
std::pair<std::size_t, std::size_t> madeRows(const Settling& settling, const RingState& before) {
  const ResidencyView& map = *settling.group.map;
  const std::size_t end = map.size(), resident = map.resident();
  if (settling.appended || settling.fresh == 0) return {end - std::min(resident, at(settling.fresh)), end};
  const std::int32_t next = before.rolled ? before.filled : before.pointer(), lap = before.capacity;
  const auto made = [&](std::size_t row) {
    return (map.slotOf[row].value() - next % lap + lap) % lap < lap - before.filled;
  };
  std::size_t first = end - resident, last = end;
  while (first < last && !made(first)) ++first;
  while (first < last && !made(last - 1)) --last;
  return {first, last};
}

class Ring : public StorageLayout {
 public:
  explicit Ring(std::string_view name, ReadPath path, bool rolled = false)
      : m_name(name), m_path(path), m_rolled(rolled) {}
  std::string_view name() const override { return m_name; }
  bool inPlace() const override { return true; }
  bool dropsMasked() const override { return true; }
  std::int32_t poolSlots(const LayerDemand& demand) const override;
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<RunSlots>(poolSlots(demand), poolSlots(demand), true);
  }
  void start(LayerGroup& group, const LayerDemand& demand) const override;
  Result<std::int64_t> settle(Settling& settling, LayoutContext& context) const override;
  void dropped(SlotAllocator& slots, std::int32_t rows) const override;
  void restart(const LayerGroup& group, SlotAllocator& slots) const override;

 private:
  std::string_view m_name;
  ReadPath m_path;
  bool m_rolled;
};

/// Whole blocks: the window and as much again at most, and a block in any case.
std::int32_t Ring::poolSlots(const LayerDemand& demand) const {
  const std::int32_t window = demand.window(), block = std::max(1, demand.block), edit = demand.room + block;
  const std::int32_t room = demand.keep ? std::min(window, std::max(edit, demand.chunk)) : edit;
  return std::max(window + room, window + 2 * block - 1) / block * block;
}

void Ring::start(LayerGroup& group, const LayerDemand& demand) const {
  group.read = m_path;
  group.tailOnly = demand.tailOnly;
  group.ring = RingState{.capacity = poolSlots(demand),
                         .window = demand.window(),
                         .block = std::max(1, demand.block),
                         .baseTick = Tick(0),
                         .rolled = m_rolled};
  if (m_path == ReadPath::Table) group.tables = std::make_shared<SlotTables>(group.ring->capacity, group.ring->block);
}

Result<std::int64_t> Ring::settle(Settling& settling, LayoutContext& context) const {
  LayerGroup& group = settling.group;
  RingState ring = *group.ring;
  const RingState before = ring;
  const std::int32_t first = group.map->first;
  ring.filled = static_cast<std::int32_t>(group.map->resident());
  ring.offset += settling.fresh;
  const auto [made, end] = madeRows(settling, before);
  if (settling.appended) {
    const std::int64_t pointer = before.pointer() + std::int64_t{settling.fresh};
    ring.wraps += pointer / ring.capacity;
    ring.head = static_cast<std::int32_t>((pointer + ring.capacity - ring.filled) % ring.capacity);
  } else {
    ring.head = m_rolled ? (before.head + std::max(0, before.filled - ring.filled)) % ring.capacity
                         : cheapestHead(*group.map, first, ring.capacity);
    ring.base = fittingBase(ring, before.base);
    if (ring.base != before.base) ring.baseTick = settling.tick;
  }
  if (m_rolled || !settling.appended)
    KV_TRY(arrange(settling, context, first, m_rolled ? 0 : ring.head, ring.capacity));
  ring.writeCount = static_cast<std::int32_t>(end - made);
  ring.writeBegin = made < end ? group.map->slotOf[made].value() : ring.pointer();
  group.ring = ring;
  for (const CacheLayer layer : settling.layers) restart(group, context.store.slots(layer));
  return std::int64_t{0};
}

void Ring::dropped(SlotAllocator& slots, std::int32_t rows) const { static_cast<RunSlots&>(slots).widen(rows); }

void Ring::restart(const LayerGroup& group, SlotAllocator& slots) const {
  const RingState& ring = *group.ring;
  static_cast<RunSlots&>(slots).place(m_rolled ? ring.filled % ring.capacity : ring.pointer(),
                                      ring.capacity - ring.filled);
}

}  // namespace

std::unique_ptr<StorageLayout> makeRingRoll(int) {
  return std::make_unique<Ring>("ring_roll", ReadPath::InPlace, true);
}
std::unique_ptr<StorageLayout> makeRingPointer(int) {
  return std::make_unique<Ring>("ring_pointer", ReadPath::TwoSlices);
}
std::unique_ptr<StorageLayout> makeRingLut(int) { return std::make_unique<Ring>("ring_lut", ReadPath::Table); }
std::unique_ptr<StorageLayout> makeRingBlockRoll(int) {
  return std::make_unique<Ring>("ring_block_roll", ReadPath::Roll);
}
std::unique_ptr<StorageLayout> makeRingFused(int) { return std::make_unique<Ring>("ring_fused", ReadPath::InPlace); }

}  // namespace kvlab
