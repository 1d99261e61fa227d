// SPDX-License-Identifier: Apache-2.0
// Rows lie in context order from slot 0: an edit moves every later row of every layer with memmove,
// in place. The baseline that the others are measured against, so it copies each row at most once.
#include <algorithm>
#include <numeric>

#include "core/layout/layout.h"
#include "core/model/backend_status.h"

namespace kvlab {
namespace {

/// Rows that keep their distance: [from, from+count) goes to [to, to+count).
using Move = kernels::RowMove;

/// Splits a map into runs of consecutive slots. Survivors ascend; rows that do not are new ones.
struct Moves {
  std::vector<Move> survivors;  // ascending from and to
  std::vector<Move> fresh;      // through a side buffer: survivors may pass over their slots
};

Moves movesOf(const Column<Slot>& slots, std::int32_t survivorsBelow) {
  Moves moves;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int32_t slot = slots[i].value();
    const auto to = static_cast<std::int32_t>(i);
    std::vector<Move>& list = slot < survivorsBelow ? moves.survivors : moves.fresh;
    if (!list.empty() && list.back().from + list.back().count == slot &&
        list.back().to + list.back().count == to)
      ++list.back().count;
    else
      list.push_back({slot, to, 1});
  }
  std::erase_if(moves.survivors, [](const Move& m) { return m.from == m.to; });
  return moves;
}

class ContiguousSplice : public StorageLayout {
 public:
  std::string_view name() const override { return "contiguous_splice"; }
  std::string_view help() const override { return "rows lie in context order"; }
  bool inPlace() const override { return true; }

  Result<std::int64_t> settle(CacheState& state, LayerSlots& freed, LayoutContext& context) override {
    std::int64_t bytes = 0;
    for (int layer = 0; layer < state.layers(); ++layer) {
      if (Status passed = context.faults.pass(FaultPoint::Copy, "moving rows"); !passed)
        return passed.error();
      Result<std::int64_t> moved = settleLayer(layer, state.map(layer).slotOf, context);
      if (!moved) return moved;
      bytes += *moved;
      context.store.slots(layer).restart(static_cast<std::int32_t>(state.map(layer).size()));
    }
    if (Status done = backendStatus(context.store.backend(), "moving rows"); !done) return done.error();
    for (LayerGroup& group : state.groups) renumber(group);
    for (std::vector<Slot>& slots : freed) slots.clear();
    m_settled.resize(static_cast<std::size_t>(state.layers()));
    for (int layer = 0; layer < state.layers(); ++layer)
      m_settled[static_cast<std::size_t>(layer)] = static_cast<std::int32_t>(state.map(layer).size());
    return bytes;
  }

 private:
  static void renumber(LayerGroup& group) {
    const Column<Slot>& old = group.map->slotOf;
    bool ordered = true;
    for (std::size_t i = 0; i < old.size() && ordered; ++i)
      ordered = old[i].value() == static_cast<std::int32_t>(i);
    if (ordered) return;
    auto map = std::make_shared<ResidencyView>(*group.map);
    map->slotOf = Column<Slot>::make(old.size(), [&](Slot* out) {
      for (std::size_t i = 0; i < old.size(); ++i) out[i] = Slot(static_cast<std::int32_t>(i));
    });
    group.map = std::move(map);
  }

  Result<std::int64_t> settleLayer(int layer, const Column<Slot>& slots, LayoutContext& context) {
    RowPool& pool = context.store.pool(layer);
    const std::int32_t before = m_settled.empty() ? 0 : m_settled[static_cast<std::size_t>(layer)];
    Moves moves = movesOf(slots, before);
    std::erase_if(moves.fresh, [](const Move& m) { return m.from == m.to; });
    std::int32_t staged = 0;
    for (const Move& move : moves.fresh) staged += move.count;
    if (m_side.slots() < staged) {
      Result<RowPool> side = RowPool::create(context.store.backend(), pool.format(), staged);
      if (!side) return side.error();
      m_side = side.take();
    }
    std::vector<Move> in, out;
    for (std::int32_t at = 0; const Move& move : moves.fresh) {
      in.push_back({move.from, at, move.count});
      out.push_back({at, move.to, move.count});
      at += move.count;
    }
    // Runs that move left go first to last, runs that move right last to first: as order is kept,
    // none then lands on rows still to be moved.
    std::vector<Move> shift;
    for (const Move& m : moves.survivors)
      if (m.to < m.from) shift.push_back(m);
    for (auto m = moves.survivors.rbegin(); m != moves.survivors.rend(); ++m)
      if (m->to > m->from) shift.push_back(*m);
    std::int64_t rows = 2 * staged;
    for (const Move& m : shift) rows += m.count;
    m_side.move(pool, in);
    pool.move(pool, shift);
    pool.move(m_side, out);
    return 2 * rows * pool.stride();
  }

  std::vector<std::int32_t> m_settled;  // [layers] rows after the last settle: slots below survive
  RowPool m_side;                       // room for the rows of one commit
};

}  // namespace

std::unique_ptr<StorageLayout> makeContiguousSplice() { return std::make_unique<ContiguousSplice>(); }

}  // namespace kvlab
