// SPDX-License-Identifier: Apache-2.0
#include "core/layout/row_swap.h"

#include <algorithm>
#include <deque>

#include "core/layout/row_mover.h"
#include "core/model/decoder/backend_status.h"

namespace kvlab {
namespace {

/// The row moves of one layer in a swap.
struct Exchange {
  std::vector<LedgerId> leaving;        // rows that give way
  std::vector<Slot> left;               // their slots
  std::vector<Slot> back;               // [kept] slots of the rows that come back
  std::vector<kernels::RowMove> moves;  // rows that both states have
};

/// The places of rows that a state has in slots.
struct Resident {
  explicit Resident(const ResidencyView& view)
      : map(view), next(at(view.first)), end(std::min(view.ledger.size(), view.slotOf.size())) {}
  LedgerId id() const { return map.ledger[next]; }
  Slot slot() const { return map.slotOf[next]; }
  bool any() const { return next < end; }

  const ResidencyView& map;
  std::size_t next, end;
};

/// Rows that stay keep their order, so one walk over both maps pairs them. None if the maps do not fit together.
std::optional<Exchange> exchangeOf(const ResidencyView& before, const ResidencyView& after,
                                   const std::vector<LedgerId>& kept, bool apart) {
  std::vector<std::pair<LedgerId, std::size_t>> known;  // sorted
  for (std::size_t i = 0; i < kept.size(); ++i) known.emplace_back(kept[i], i);
  std::ranges::sort(known);
  const auto placeOf = [&](LedgerId id) -> std::optional<std::size_t> {
    const auto found = std::ranges::lower_bound(known, id, {}, &std::pair<LedgerId, std::size_t>::first);
    if (found == known.end() || found->first != id) return {};
    return found->second;
  };
  Exchange out;
  out.back.assign(kept.size(), Slot(-1));
  Resident from(before);
  const auto leave = [&] {
    if (apart || placeOf(from.id())) {
      out.leaving.push_back(from.id());
      out.left.push_back(from.slot());
    }
    ++from.next;
  };
  for (Resident to(after); to.any(); ++to.next) {
    if (const std::optional<std::size_t> place = placeOf(to.id())) {
      out.back[*place] = to.slot();
      continue;
    }
    if (!apart) continue;
    while (from.any() && from.id() != to.id()) leave();
    if (!from.any()) return {};
    addMove(out.moves, from.slot().value(), to.slot().value());
    ++from.next;
  }
  while (from.any()) leave();
  if (std::ranges::find(out.back, Slot(-1)) != out.back.end()) return {};
  return out;
}

}  // namespace

Result<std::int64_t> swapRows(const Placed& from, const Placed& to, KeptRows& kept, bool apart) {
  kept.layers.resize(from.state.groupOf.size());
  std::deque<Exchange> exchanges;
  std::vector<const Exchange*> of;  // [layers]
  for (const CacheLayer layer : from.state.layers()) {
    const auto same = [&](std::size_t a, std::size_t b) {
      return from.state.groupOf[a] == from.state.groupOf[b] && to.state.groupOf[a] == to.state.groupOf[b] &&
          kept.layers[a].ids == kept.layers[b].ids;
    };
    if (of.empty() || !same(at(layer), at(layer) - 1)) {
      std::optional<Exchange> exchange = exchangeOf(from.state.group(layer).stored(), to.state.group(layer).stored(),
                                                    kept.layers[at(layer)].ids, apart);
      if (!exchange)
        return Error{"not_kept", "the state was not restored", "its rows are not among those that were kept",
                     "nothing: the commands that led to the state are executed again"};
      exchanges.push_back(std::move(*exchange));
    }
    of.push_back(&exchanges.back());
  }
  KeptRows leaving;
  leaving.layers.resize(of.size());
  std::vector<RecordRead> reads;
  std::int64_t bytes = 0;
  for (const CacheLayer layer : from.state.layers()) {
    const RowPool& pool = from.store.pool(layer);
    KeptRows::Rows& rows = leaving.layers[at(layer)];
    rows.ids = of[at(layer)]->leaving;
    rows.records.resize(rows.ids.size() * at(pool.stride()));
    reads.push_back({&pool, of[at(layer)]->left, rows.records.data()});
    bytes += std::ssize(rows.records);
  }
  std::vector<ReadyMoves> ready;  // nothing is written before all memory is there
  if (&from.store == &to.store)
    for (const CacheLayer layer : from.state.layers())
      ready.push_back(KV_TRY(ReadyMoves::of(to.store.pool(layer), of[at(layer)]->moves)));
  readRecords(reads);
  for (const CacheLayer layer : from.state.layers()) {
    RowPool& pool = to.store.pool(layer);
    if (&from.store == &to.store) {
      bytes += KV_TRY(ready[at(layer)].run());
    } else {
      pool.move(from.store.pool(layer), of[at(layer)]->moves);
      for (const kernels::RowMove& move : of[at(layer)]->moves) bytes += 2 * pool.stride() * move.count;
    }
    pool.writeRecords(of[at(layer)]->back, kept.layers[at(layer)].records.data());
    bytes += std::ssize(kept.layers[at(layer)].records);
  }
  KV_TRY(backendStatus(to.store.backend(), "restoring rows"));
  kept = std::move(leaving);
  return bytes;
}

}  // namespace kvlab
