// SPDX-License-Identifier: Apache-2.0
// Pages of `block` slots. The rows of a page lie in its first slots in context order, and pages follow
// one another in context order, as a block table of paged attention has them (Kwon et al. 2023, section
// 4). An edit never changes a page in use: rows that no longer start their page are copied into fresh pages, so
// older states keep their pages, and a commit that fails changes nothing. The price is pages that are not full;
// compact() gets the room back.
#include <algorithm>

#include "core/layout/layout.h"
#include "core/layout/row_mover.h"
#include "core/model/decoder/backend_status.h"

namespace kvlab {
namespace {

using kernels::RowMove;

/// The moves that bring the resident rows of one layer into page form.
struct Repaging {
  std::vector<Slot> slots;  // [resident rows] after
  std::vector<Slot> left, taken;
  std::vector<RowMove> moves;
};

/// Pages of several layers, of which a slot is free where all have it free. Their histories, and rows that a tick
/// computes anew, may hold different ones.
class CommonPages {
 public:
  explicit CommonPages(std::vector<PageSlots*> layers) : m_layers(std::move(layers)) {}
  int block() const { return m_layers.front()->block(); }
  bool takeSlot(Slot slot) {
    if (!isFree(slot)) return false;
    for (PageSlots* layer : m_layers) layer->takeSlot(slot);
    return true;
  }
  Slot takePage() {
    for (std::int32_t page = 0; page < m_layers.front()->pages(); ++page) {
      bool free = true;
      for (int i = 0; free && i < block(); ++i) free = isFree(Slot(page * block() + i));
      if (free && takeSlot(Slot(page * block()))) return Slot(page * block());
    }
    return Slot(-1);
  }
  void give(std::span<const Slot> slots) {
    for (PageSlots* layer : m_layers) layer->give(slots);
  }

 private:
  bool isFree(Slot slot) const {
    return std::ranges::all_of(m_layers, [&](const PageSlots* layer) { return layer->isFree(slot); });
  }
  std::vector<PageSlots*> m_layers;
};

/// A row keeps its slot if it starts its page, follows the row before it, or is the oldest row. Any other row moves
/// behind the row before it if that slot is free, else to a fresh page. On failure nothing is taken.
template <class Pages>
std::optional<Repaging> repage(std::span<const Slot> slots, Pages& pages) {
  Repaging out;
  Slot last(-1);
  for (const Slot slot : slots) {
    const Slot next(last.value() + 1);
    const bool inside = last.value() >= 0 && next.value() % pages.block() != 0;
    if (last.value() < 0 || slot.value() % pages.block() == 0 || (inside && slot == next)) {
      out.slots.push_back(last = slot);
      continue;
    }
    const Slot to = inside && pages.takeSlot(next) ? next : pages.takePage();
    if (to.value() < 0) {
      pages.give(out.taken);
      return {};
    }
    out.left.push_back(slot);
    out.taken.push_back(to);
    addMove(out.moves, slot.value(), to.value());
    out.slots.push_back(last = to);
  }
  return out;
}

/// Takes all of the slots, or none.
bool takeAll(PageSlots& pages, const std::vector<Slot>& slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (pages.takeSlot(slots[i])) continue;
    pages.give(std::span(slots).first(i));
    return false;
  }
  return true;
}

/// Moves that all layers make: the moves of the first, or where the others cannot, moves to slots that are free in all.
std::optional<Repaging> repageAll(std::span<const Slot> slots, std::vector<PageSlots*> layers) {
  std::optional<Repaging> done = repage(slots, *layers.front());
  if (!done) return done;
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (takeAll(*layers[i], done->taken)) continue;
    for (std::size_t j = 0; j < i; ++j) layers[j]->give(done->taken);
    CommonPages common(std::move(layers));
    return repage(slots, common);
  }
  return done;
}

std::int64_t rowsOf(const std::vector<RowMove>& moves) {
  std::int64_t rows = 0;
  for (const RowMove& m : moves) rows += m.count;
  return rows;
}

void rewrite(LayerGroup& group, std::span<const Slot> resident) {
  auto map = std::make_shared<ResidencyView>(*group.map);
  std::vector<Slot> slots(static_cast<std::size_t>(map->first), Slot(-1));
  slots.insert(slots.end(), resident.begin(), resident.end());
  map->slotOf.assign(slots);
  group.map = std::move(map);
}

class Paged : public StorageLayout {
 public:
  explicit Paged(int block) : m_block(block), m_name("paged:block=" + std::to_string(block)) {}
  std::string_view name() const override { return m_name; }
  bool inPlace() const override { return false; }
  /// Adds room for holes, up to the capacity, because pages may be partly filled.
  std::int32_t poolSlots(const LayerDemand& demand) const override {
    const std::int64_t holes = std::min<std::int64_t>(demand.pooled(), std::int64_t{demand.room} * m_block);
    const std::int64_t pages = (std::int64_t{demand.pooled()} + demand.room + demand.history + holes) / m_block + 2;
    return static_cast<std::int32_t>(pages * m_block);
  }
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<PageSlots>(poolSlots(demand), m_block);
  }

  Result<std::int64_t> settle(Settling& settling, LayoutContext& context) const override {
    if (settling.appended) return std::int64_t{0};  // appended rows already follow the last row
    for (std::size_t i = 0; i < settling.layers.size(); ++i)
      KV_TRY(context.faults.pass(FaultPoint::Copy, "moving rows"));
    const std::span<const Slot> before = settling.group.map->residentSlots();
    std::vector<PageSlots*> all;
    for (const CacheLayer layer : settling.layers) all.push_back(&static_cast<PageSlots&>(context.store.slots(layer)));
    std::optional<Repaging> done = repageAll(before, std::move(all));
    if (!done) return noPage();
    std::int64_t bytes = 0;
    for (const CacheLayer layer : settling.layers) {
      RowPool& pool = context.store.pool(layer);
      pool.move(pool, done->moves);
      bytes += 2 * rowsOf(done->moves) * pool.stride();
    }
    KV_TRY(backendStatus(context.store.backend(), "moving rows"));
    rewrite(settling.group, done->slots);
    settling.left = std::move(done->left);
    settling.taken = std::move(done->taken);
    return bytes;
  }

  std::optional<PageState> pages(const LayerGroup& group, const SlotAllocator& allocator) const override {
    const auto& slots = static_cast<const PageSlots&>(allocator);
    PageState state{m_block, slots.pages(), 0, static_cast<std::int32_t>(group.stored().resident())};
    std::int32_t last = -1;
    for (const Slot slot : group.stored().residentSlots()) {
      state.used += slot.value() / m_block != last;
      last = slot.value() / m_block;
    }
    return state;
  }

  /// Fills pages from the front with the rows behind them until `most` rows have moved and the next row
  /// starts a page.
  Result<Compaction> compact(LayerGroup& group, std::span<const CacheLayer> layers, LayoutContext& context,
                             std::int64_t most) const override {
    const std::span<const Slot> before = group.map->residentSlots();
    std::vector<Slot> slots(before.begin(), before.end());
    std::vector<std::int32_t> table;  // pages in context order
    for (const Slot slot : slots)
      if (table.empty() || table.back() != slot.value() / m_block) table.push_back(slot.value() / m_block);
    Compaction out;
    std::vector<RowMove> moves;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto row = static_cast<std::int32_t>(i);
      if (before[i].value() % m_block == 0 && out.rows >= most) {
        out.done = false;
        break;
      }
      const Slot to(table[i / static_cast<std::size_t>(m_block)] * m_block + row % m_block);
      if (to == before[i]) continue;
      addMove(moves, before[i].value(), to.value());
      slots[i] = to;
      ++out.rows;
    }
    for (const CacheLayer layer : layers) {
      out.bytes += KV_TRY(moveAll(context.store.pool(layer), moves));
      context.store.slots(layer).restart(runsOf(slots));
    }
    rewrite(group, slots);
    return out;
  }

 private:
  Error noPage() const {
    return Error{"staging", "the edit needs more free pages than there are",
                 "no page of " + std::to_string(m_block) + " slots is free",
                 "compact the pages, raise staging or history_bytes, or use indirection"};
  }

  int m_block;
  std::string m_name;
};

}  // namespace

std::unique_ptr<StorageLayout> makePaged(int block) { return std::make_unique<Paged>(block); }

}  // namespace kvlab
