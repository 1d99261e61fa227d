// SPDX-License-Identifier: Apache-2.0
#include "bench/shaped_cache.h"

#include <limits>
#include <random>

#include "core/edit/planner.h"

namespace kvlab {
namespace {

/// A ledger and mirror of `rows` tokens, and one map for all layers, row i in slot i.
void fillState(ShapedCache& cache, std::int32_t rows) {
  CacheState& state = cache.state;
  std::vector<LedgerId> ids;
  for (std::int32_t i = 0; i < rows; ++i) {
    LedgerRow row;
    row.token = TokenId(i % 1000);
    ids.push_back(state.ledger.append(row));
  }
  state.context.assign(ids);
  state.phases = ramp(state.ramp, at(rows));
  state.brightness.assign(std::vector<float>(at(rows), 255.0f));
  state.birthPhases = state.phases;
  auto map = std::make_shared<ResidencyView>();
  map->ledger = state.context;
  map->phases = state.phases;
  map->slotOf = Column<Slot>::make(at(rows), [&](Slot* out) {
    for (std::int32_t i = 0; i < rows; ++i) out[i] = Slot(i);
  });
  state.groups[0].map = std::move(map);
  if (std::optional<RingState>& ring = state.groups[0].ring) ring->filled = rows, ring->offset = rows;
  state.groups[0].provenance.assign(std::vector<Provenance>(at(rows)));
}

void fillPools(ShapedCache& cache, std::int32_t rows) {
  constexpr std::int32_t kChunk = 64;
  std::mt19937 random(1);
  std::vector<float> values(at(cache.store.pool(CacheLayer(0)).width() * kChunk));
  for (float& v : values) v = static_cast<float>(random()) / 4e9f - 0.5f;
  std::vector<std::uint64_t> tags(at(rows));
  std::vector<std::int32_t> slots(at(rows));
  for (std::int32_t i = 0; i < rows; ++i) tags[at(i)] = static_cast<std::uint64_t>(slots[at(i)] = i);
  for (const CacheLayer layer : cache.store.layers())
    for (std::int32_t i = 0; i < rows; i += kChunk)
      cache.store.pool(layer).write({slots.data() + i, at(std::min(kChunk, rows - i))}, values.data(), values.data(),
                                    tags.data() + i);
}

}  // namespace

Result<ShapedCache> makeShapedCache(const CacheShape& shape, const LayoutName& layout, std::int32_t rows,
                                    std::int32_t keep, kernels::DType k, kernels::DType v, kernels::Backend& backend) {
  ShapedCache cache;
  cache.capacity = rows + 1;
  cache.layouts =
      LayoutSet::of(layout, shape.layers, {.capacity = cache.capacity, .keep = keep, .room = 64, .history = 0});
  const kernels::RowFormat format{shape.kvHeads, shape.headDim, k, v};
  cache.store = KV_TRY(CacheStore::create(backend, cache.layouts.pools(std::vector(at(shape.layers), format))));
  cache.layouts.start(cache.state, std::vector<std::int32_t>(at(shape.layers), keep));
  fillState(cache, rows);
  fillPools(cache, rows);
  cache.layouts.restart(cache.store, cache.state);
  return cache;
}

Result<EditCost> applyTo(ShapedCache& cache, std::vector<Action> actions) {
  const PlanRules rules{PositionMode::Context, false, 1000, cache.capacity, 0, Source::Model};
  TransactionRules how;
  how.probes = false;
  FaultDoor faults;
  Transaction transaction(nullptr, cache.store, cache.layouts, faults);
  EditCost cost;
  const auto start = BenchClock::now();
  EditPlan plan = KV_TRY(planEdit(cache.state, rules, std::move(actions)));
  cost.plan = 1e6 * secondsSince(start);
  Trace trace;
  const auto commit = BenchClock::now();
  Applied applied = KV_TRY(transaction.run(cache.state, plan, how, trace));
  cache.state = std::move(applied.state);
  cost.commit = 1e6 * secondsSince(commit);
  cost.bytes = static_cast<double>(applied.bytesMoved);
  cache.store.release(applied.freed);
  return cost;
}

Status compactAll(ShapedCache& cache) {
  FaultDoor faults;
  LayoutContext context{cache.store, faults};
  KV_TRY(cache.layouts.compact(cache.state, std::numeric_limits<std::int64_t>::max(), context));
  return ok();
}

}  // namespace kvlab
