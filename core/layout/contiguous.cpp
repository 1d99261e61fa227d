// SPDX-License-Identifier: Apache-2.0
// Layouts that keep rows in context order in consecutive slots. Engine thread. semantics.md, section 7.
#include "core/layout/layout.h"

namespace kvlab {
namespace {

using kernels::RowMove;

/// Base class of layouts that keep rows in context order in consecutive slots. Pools have no room for history. New rows
/// get slots behind the last row.
class Contiguous : public StorageLayout {
 public:
  bool inPlace() const override { return true; }
  std::int32_t poolSlots(const LayerDemand& demand) const override { return demand.pooled() + demand.room; }
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<RunSlots>(poolSlots(demand), poolSlots(demand), false);
  }
  Result<std::int64_t> settle(Settling& settling, LayoutContext& context) const override;

 protected:
  /// Moves that bring the resident rows of one layer to the slots base, base + 1, ... Each row moves once.
  virtual Result<ReadyMoves> arranging(const ResidencyView& map, RowPool& pool, std::int32_t base) const {
    std::vector<RowMove> moves;
    for (std::int32_t to = base; const Slot slot : map.residentSlots()) addMove(moves, slot.value(), to++);
    return ReadyMoves::of(pool, std::move(moves));
  }
  /// Slot of the first row after an edit.
  virtual std::int32_t baseOf(const ResidencyView&, const RunSlots&) const { return 0; }
};

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
    context.store.slots(layer).restart(runsOf(settling.group.map->residentSlots()));
  return std::int64_t{0};
}

/// batch_splice treats the whole edit as one splice: each row behind the first edit moves once, in place.
class BatchSplice : public Contiguous {
 public:
  std::string_view name() const override { return "batch_splice"; }
};

/// boolean_gather: an edit is one gather: all rows that stay, new rows included, are copied to the other half of the
/// pool. The whole cache moves, but each row moves once, and over another row only where a smaller pool has grown.
class BooleanGather : public Contiguous {
 public:
  std::string_view name() const override { return "boolean_gather"; }
  std::int32_t poolSlots(const LayerDemand& demand) const override { return 2 * (demand.pooled() + demand.room); }
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<RunSlots>(poolSlots(demand), poolSlots(demand) / 2, false);
  }

 protected:
  std::int32_t baseOf(const ResidencyView& map, const RunSlots& slots) const override {
    return map.resident() && map.residentSlots()[0].value() < slots.lap() ? slots.lap() : 0;
  }
};

/// Runs of survivors that keep their distance, in context order, and rows that a pass computed behind all survivors.
struct Pieces {
  std::vector<RowMove> survivors, fresh;
};

/// The slots of survivors ascend. A row that breaks the order is new, and so are all rows behind the last survivor.
Pieces piecesOf(const ResidencyView& map) {
  Pieces pieces;
  const std::span<const Slot> slots = map.residentSlots();
  std::vector<std::int32_t> least(slots.size() + 1, std::numeric_limits<std::int32_t>::max());
  for (std::size_t i = slots.size(); i-- > 0;) least[i] = std::min(least[i + 1], slots[i].value());
  for (std::size_t i = 0; i < slots.size(); ++i)
    addMove(slots[i].value() < least[i + 1] ? pieces.survivors : pieces.fresh, slots[i].value(),
            static_cast<std::int32_t>(i));
  return pieces;
}

/// contiguous_splice is the splice of a cache without an index: each splice of the list, from the highest position
/// down, moves every later row of the layer. torch.cat does the same with a second buffer.
class ContiguousSplice : public Contiguous {
 public:
  std::string_view name() const override { return "contiguous_splice"; }

 protected:
  Result<ReadyMoves> arranging(const ResidencyView& map, RowPool& pool, std::int32_t) const override {
    Pieces pieces = piecesOf(map);
    std::erase_if(pieces.fresh, [](const RowMove& m) { return m.from == m.to; });
    std::vector<RowMove> shifts;
    const std::vector<RowMove>& s = pieces.survivors;
    const std::int32_t end = s.empty() ? 0 : s.back().to + s.back().count;  // after all splices
    for (std::size_t k = s.size(); k-- > 0;) {
      const std::int32_t before = k ? s[k - 1].to - s[k - 1].from : 0;
      const std::int32_t by = s[k].to - s[k].from - before;
      if (by != 0) shifts.push_back({s[k].from, s[k].from + by, end - s[k].to});
    }
    return ReadyMoves::of(pool, std::move(shifts), pieces.fresh);
  }
};

}  // namespace

std::unique_ptr<StorageLayout> makeBatchSplice(int) { return std::make_unique<BatchSplice>(); }
std::unique_ptr<StorageLayout> makeBooleanGather(int) { return std::make_unique<BooleanGather>(); }
std::unique_ptr<StorageLayout> makeContiguousSplice(int) { return std::make_unique<ContiguousSplice>(); }

}  // namespace kvlab
