// SPDX-License-Identifier: Apache-2.0
// Reports how rows are stored, and moves the rows of an open session to other pools.
#include <algorithm>
#include <limits>

#include "core/api/guarded.h"
#include "core/edit/departures.h"
#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/row_codec.h"
#include "core/parts/storage_plan.h"
#include "core/session/parts_before.h"
#include "core/session/storage.h"

namespace kvlab {
namespace {

constexpr std::size_t kCarried = 256;  // rows converted at a time

/// Bytes of one record by kind, from its layout.
BytesByKind bytesOf(const kernels::RowFormat& format) {
  const kernels::RowLayout o = kernels::rowLayout(format);
  const std::int64_t values = std::int64_t{format.kvHeads} * format.headDim;
  BytesByKind out;
  out.k = values * kernels::dtypeBytes(format.k);
  out.v = values * kernels::dtypeBytes(format.v);
  out.scales = 4 * std::int64_t{format.kvHeads} * (kernels::dtypeHasScale(format.k) + kernels::dtypeHasScale(format.v));
  out.tags = 16;  // tag and checksum
  out.padding = o.stride - out.k - out.v - out.scales - out.tags;
  return out;
}

/// Bytes read and written to gather the rows that one query of the newest row reads.
std::int64_t readBytes(const LayerGroup& group, const kernels::RowFormat& format) {
  if (group.read == ReadPath::InPlace) return 0;
  auto rows = static_cast<std::int32_t>(group.map->resident());
  if (group.tailOnly && group.window > 0) rows = std::min(rows, group.window);
  const std::int64_t stride = kernels::rowLayout(format).stride;
  if (group.read == ReadPath::TwoSlices) return 2 * rows * stride;
  const RingState& ring = *group.ring;
  if (group.read == ReadPath::Roll)
    rows = ring.inBlocks((ring.pointer() + ring.capacity - rows % ring.capacity) % ring.capacity, rows);
  kernels::RowFormat plain = format;
  plain.k = plain.v = kernels::DType::f32;
  const std::int64_t values = 8 * std::int64_t{format.kvHeads} * format.headDim;  // K and V as f32
  return rows * (stride + 2 * values + kernels::rowLayout(plain).stride);
}

/// Copies rows of one layer to another pool and converts them if the formats differ. Returns how far codecs have moved
/// them. Error: bad_codec.
Result<CodecChange> carry(const RowPool& from, std::span<const Slot> source, RowPool& to, std::span<const Slot> target,
                          const Column<LedgerId>& ids, std::size_t first, Layer layer, int head) {
  const bool same = from.format() == to.format();
  std::vector<std::uint8_t> records(same ? kCarried * at(to.stride()) : 0);
  std::vector<float> k(same ? 0 : kCarried * at(to.width())), v(k.size());
  std::vector<std::uint64_t> tags;
  CodecChange out;
  for (std::size_t begin = 0; begin < source.size(); begin += kCarried) {
    const std::size_t n = std::min(kCarried, source.size() - begin);
    if (same) {
      from.readRecords(source.subspan(begin, n), records.data());
      to.writeRecords(target.subspan(begin, n), records.data());
      continue;
    }
    tags.clear();
    for (std::size_t i = begin; i < begin + n; ++i) tags.push_back(static_cast<std::uint64_t>(ids[first + i].value()));
    from.gather(plain(source.subspan(begin, n)), k.data(), v.data());
    const CodecChange change =
        KV_TRY(encodeRows(to.format(), layer, head, static_cast<std::int64_t>(n), k.data(), v.data()));
    out = {std::max(out.k, change.k), std::max(out.v, change.v)};
    to.write(plain(target.subspan(begin, n)), k.data(), v.data(), tags.data());
  }
  return out;
}

}  // namespace

std::vector<std::shared_ptr<const StorageView>> storageOf(const Session& session) {
  const CacheStore& store = session.store();
  const CacheState& state = session.state();
  const LayoutSet& layouts = session.parts().layouts;
  std::vector<std::shared_ptr<const StorageView>> out;
  for (const CacheLayer layer : store.layers()) {
    const RowPool& pool = store.pool(layer);
    const LayerGroup& group = state.group(layer);
    const auto alike = [&](CacheLayer other) {
      return state.groupOf[at(other)] == state.groupOf[at(layer)] && store.pool(other).format() == pool.format();
    };
    CacheLayer first;
    while (first < layer && !alike(first)) ++first;
    if (first < layer) {
      out.push_back(out[at(first)]);
      continue;
    }
    auto view = std::make_shared<StorageView>();
    view->layout = layouts.layout(layer).name();
    view->k = typeText(pool.format(), true);
    view->v = typeText(pool.format(), false);
    view->poolSlots = pool.slots();
    view->roomSlots = layouts.slotsWithoutHistory(layer);
    view->stride = static_cast<std::int32_t>(pool.stride());
    view->rows = static_cast<std::int32_t>(group.stored().resident());
    view->first = group.map->first;
    view->window = group.window;
    view->held = pool.slots() - store.slots(layer).available();
    view->record = bytesOf(pool.format());
    view->read = group.read;
    view->tailOnly = group.tailOnly;
    view->readBytes = readBytes(group, pool.format());
    view->ring = group.ring;
    view->pages = layouts.layout(layer).pages(group, store.slots(layer));
    out.push_back(std::move(view));
  }
  return out;
}

std::int64_t reservedBytes(const Session& session) {
  std::int64_t bytes = 0;
  for (const CacheLayer layer : session.store().layers())
    bytes += session.store().pool(layer).stride() * session.store().pool(layer).slots();
  return bytes;
}

PoolMemory memoryOf(const Session& session) {
  PoolMemory out;
  for (const CacheLayer layer : session.store().layers()) {
    const kernels::PageUse use = session.store().pool(layer).memory();
    out.own += use.own;
    out.shared += use.shared;
    if (use.group) out.groups[use.group] = use.groupBytes;
  }
  return out;
}

LayerGroup placedIn(LayerGroup group, const GroupRules& rules, SlotAllocator& slots, Tick now) {
  static_cast<GroupRules&>(group) = rules;
  auto map = std::make_shared<ResidencyView>(*group.map);
  const auto size = static_cast<std::int32_t>(map->size());
  if (group.keep) map->first = std::max(map->first, size - group.keep);
  std::vector<Slot> all(at(map->first), Slot(-1));
  slots.take(size - map->first, all);
  map->slotOf.assign(all);
  if (group.ring) {
    group.ring->filled = size - map->first;
    group.ring->offset = size;
    group.ring->base = (size - group.ring->pointer()) % group.ring->capacity;
    group.ring->baseTick = now;
  }
  group.map = std::move(map);
  return group;
}

namespace {

/// The content with its rows in slots that slotsOf(layer) hands out, in logical order. Errors: capacity.
template <class SlotsOf>
Result<CacheState> placed(const SessionParts& parts, const LayoutSet& layouts, const CacheState& content,
                          SlotsOf slotsOf) {
  for (const CacheLayer layer : content.layers()) {
    const LayerDemand& demand = layouts.demand(layer);
    const ResidencyView& map = content.map(layer);
    const bool fits = static_cast<std::int32_t>(map.size()) <= demand.capacity &&
        static_cast<std::int32_t>(map.resident()) <= slotsOf(layer).available();
    if (!fits && !demand.keep)
      return Error("capacity", "the storage was not changed",
                   "layer " + parts.cacheLayers.name(layer) + " has no room for its rows",
                   "raise capacity, or choose another layout");
  }
  CacheState empty, next = content;
  layouts.start(empty, windowsOf(parts));
  const auto make = [&](CacheLayer layer) {
    return placedIn(content.group(layer), empty.group(layer), slotsOf(layer), content.tick);
  };
  const auto alike = [&](CacheLayer a, CacheLayer b) {
    return layouts.alike(a, b) && empty.group(a).window == empty.group(b).window;
  };
  regroup(next, alike, make, [](CacheLayer, CacheLayer) {});
  return next;
}

/// Notes that the rows of a layer have passed from one format to another. Nobody knows how far a codec has moved the
/// rows that it leaves behind.
void notePasts(CacheState& state, CacheLayer layer, const kernels::RowFormat& from, const kernels::RowFormat& to,
               bool turned) {
  if (from == to) return;
  const auto pass = [&](Rounding& past, bool keys, bool turns) {
    const kernels::DType was = keys ? from.k : from.v, is = keys ? to.k : to.v;
    const std::string &left = codecOf(from.codecs, keys), &present = codecOf(to.codecs, keys);
    if (!left.empty() && left != present) past = {0, Rounding::kAny};
    else if (was != is) past = (past.any() ? past : roundingOf(was, turns)).then(roundingOf(is, turns));
  };
  state.pasts.resize(state.groupOf.size());
  Column<RowPast>& column = state.pasts[at(layer)];
  std::vector<RowPast> all(column.begin(), column.end());
  all.resize(state.ledger.size());
  for (RowPast& past : all) {
    pass(past.k, true, turned);
    pass(past.v, false, false);
  }
  column.assign(all);
}

}  // namespace

void noteCoded(CacheState& state, CacheLayer layer, const CodecChange& change) {
  if (change.k == 0 && change.v == 0) return;
  state.pasts.resize(state.groupOf.size());
  Column<RowPast>& column = state.pasts[at(layer)];
  std::vector<RowPast> all(column.begin(), column.end());
  all.resize(state.ledger.size());
  for (RowPast& past : all) {
    past.k = past.k.then({0, change.k});
    past.v = past.v.then({0, change.v});
  }
  column.assign(all);
}

Result<Commit> carried(SessionParts& parts, const CacheState& before, std::vector<std::int32_t> rows) {
  NewPools made = KV_TRY(newPools(parts, before, std::move(rows)));
  Commit commit{std::move(made.content)};
  CacheState& next = commit.state;
  LayerSlots lost;
  bool converted = false, seesOthers = false;
  for (const CacheLayer layer : made.store.layers()) {
    notePasts(next, layer, parts.store.pool(layer).format(), made.store.pool(layer).format(),
              parts.transformer->keysRotated());
    const ResidencyView &old = before.map(layer), &now = next.map(layer);
    const auto first = at(now.first);
    const bool same = parts.store.pool(layer).format() == made.store.pool(layer).format();
    noteCoded(next, layer,
              KV_TRY(carry(parts.store.pool(layer), old.slotOf.span().subspan(first), made.store.pool(layer),
                           now.residentSlots(), now.ledger, first, parts.cacheLayers.layerOf(layer),
                           parts.cacheLayers.partOf(layer))));
    const std::span<const Slot> gone = old.residentSlots().first(same ? at(now.first - old.first) : old.resident());
    lost.emplace_back(gone.begin(), gone.end());
    seesOthers = seesOthers || now.first != old.first || before.group(layer).window != next.group(layer).window;
    converted = converted || !same;
  }
  KV_TRY(backendStatus(*parts.backend, "converting rows"));
  parts.store.keep(lost);
  next.logitsStale = next.length() > 0 && (before.logitsStale || converted || seesOthers);
  next.edited = next.edited ||
      (converted && next.kind->derivesContext());  // the cost of rows no longer decides which are computed
  commit.left = leaveWindows(before, next, true, before.tick);
  install(parts, std::move(made));
  return commit;
}

namespace {

/// Pools for so many rows of each layer. Slots are no part of a session's state: the change is no step, and there is
/// nothing to undo.
Status resize(Session& session, std::vector<std::int32_t> rows) {
  SessionParts& parts = session.parts();
  const bool stayed = KV_TRY(parts.layouts.resize(parts.store, rows));
  if (stayed) return ok();
  session.history().setApart(parts);
  PartsBefore before(session);
  Commit moved = KV_TRY(carried(parts, session.state(), std::move(rows)));
  session.history().poolsChanged();
  session.refine(std::move(moved.state));
  before.keep();
  return ok();
}

/// Pools grow to slots for needed(layer) rows and some more, up to what their layers may hold.
Status grow(Session& session, const std::function<std::int64_t(CacheLayer)>& needed) {
  const LayoutSet& layouts = session.parts().layouts;
  std::vector<std::int32_t> rows;
  bool grows = false;
  for (const CacheLayer layer : session.state().layers()) {
    const LayerDemand& demand = layouts.demand(layer);
    const std::int64_t wanted = needed(layer);
    const bool small = wanted > demand.pooled() && demand.pooled() < demand.capacity;
    rows.push_back(small ? static_cast<std::int32_t>(std::min<std::int64_t>(demand.capacity, wanted + wanted / 4))
                         : demand.pooled());
    grows = grows || small;
  }
  return grows ? resize(session, std::move(rows)) : ok();
}

}  // namespace

std::vector<std::int32_t> pooledRows(const Session& session) {
  std::vector<std::int32_t> out;
  for (const CacheLayer layer : session.store().layers()) out.push_back(session.parts().layouts.demand(layer).pooled());
  return out;
}

void resizePools(Session& session, std::vector<std::int32_t> rows) {
  const Status done =
      guarded("the pools stay", [&] { return resize(session, std::move(rows)); });  // it may fail if memory is short
  static_cast<void>(done);
}

Status growPools(Session& session, std::int32_t more) {
  const LayoutSet& layouts = session.parts().layouts;
  const auto whole = [&](CacheLayer layer) { return layouts.demand(layer).pooled() >= layouts.demand(layer).capacity; };
  if (std::ranges::all_of(session.state().layers(), whole)) return ok();
  return grow(session, [&](CacheLayer layer) {
    return static_cast<std::int64_t>(session.state().map(layer).resident()) + more;
  });
}

std::shared_ptr<const StoredAs> storedAs(const SessionParts& parts) {
  StoredAs out{parts.manifest, {}};
  for (const CacheLayer layer : parts.store.layers()) out.rows.push_back(parts.layouts.demand(layer).rows);
  return std::make_shared<const StoredAs>(std::move(out));
}

Result<NewPools> newPools(const SessionParts& parts, const CacheState& content, std::vector<std::int32_t> rows) {
  StoragePlan plan = KV_TRY(planStorage(parts, &content, std::move(rows)));
  CacheStore store = KV_TRY(makeStore(parts, plan));
  CacheState there = KV_TRY(
      placed(parts, plan.layouts, content, [&](CacheLayer layer) -> SlotAllocator& { return store.slots(layer); }));
  plan.layouts.restart(store, there);
  return NewPools{std::move(store), std::move(plan.layouts), std::move(there)};
}

void install(SessionParts& parts, NewPools pools) {
  pools.store.log() = std::move(parts.store.log());
  replacePools(parts, std::move(pools.store), std::move(pools.layouts));
}

Result<CacheState> placedAgain(Session& session, const CacheState& content) {
  const SessionParts& parts = session.parts();
  KV_TRY(grow(session, [&](CacheLayer layer) { return static_cast<std::int64_t>(content.map(layer).resident()); }));
  std::vector<std::unique_ptr<SlotAllocator>> slots;
  for (const CacheLayer layer : content.layers())
    slots.push_back(parts.layouts.layout(layer).makeSlots(parts.layouts.demand(layer)));
  return placed(parts, parts.layouts, content, [&](CacheLayer layer) -> SlotAllocator& { return *slots[at(layer)]; });
}

void shrinkPools(Session& session) {
  if (!session.state().policy || session.state().kind->derivesContext()) return;  // rows that have left may come back
  const LayoutSet& layouts = session.parts().layouts;
  std::vector<std::int32_t> rows = rowsBounded(session.manifest(), session.state());
  std::int64_t slots = 0, wanted = 0;
  for (const CacheLayer layer : session.state().layers()) {
    const LayerDemand& demand = layouts.demand(layer);
    std::int32_t& own = rows[at(layer)];
    const bool ring = session.state().group(layer).ring.has_value();
    own = own && own < demand.pooled() && !ring ? std::max(own, demand.keep) : demand.pooled();
    slots += layouts.slotsWithoutHistory(layer);
    wanted += layouts.slotsWithoutHistory(layer, own);
  }
  if (slots <= 2 * wanted) return;
  resizePools(session, std::move(rows));
}

namespace {
bool hasPages(const Session& session) {
  const SessionParts& parts = session.parts();
  const CacheState& state = session.state();
  return std::ranges::any_of(state.layers(), [&](CacheLayer layer) {
    return parts.layouts.layout(layer).pages(state.group(layer), parts.store.slots(layer)).has_value();
  });
}
}  // namespace

Result<Compaction> compact(Session& session, std::int64_t most) {
  KV_TRY(session.changeable());
  if (!hasPages(session)) return Compaction{};
  SessionParts& parts = session.parts();
  CacheState next = session.state();
  session.history().setApart(parts);  // older states name the slots that are about to move
  LayoutContext context{parts.store, parts.faults};
  Result<Compaction> all = parts.layouts.compact(next, most, context);
  if (!all) {
    session.loseRows();
    session.markBroken(all.error().text());
    return all.error();
  }
  if (all->rows == 0) return all;
  session.health().bytesMoved = all->bytes;
  session.refine(std::move(next));
  parts.store.deeds().clear();  // they name slots where the rows were
  session.check(false);
  return all;
}

bool compactPages(Session& session) {
  const CacheState& state = session.state();
  if (!hasPages(session) || state.kind->draftedFrom()) return false;
  return static_cast<bool>(compact(session, std::numeric_limits<std::int64_t>::max()));
}

std::vector<StoredRows> rowsIn(const SessionParts& parts, const CacheState& state) {
  const LayerSlots held = parts.layouts.heldBy(state);
  std::vector<StoredRows> out;
  for (const CacheLayer layer : parts.store.layers()) {
    const RowPool& pool = parts.store.pool(layer);
    out.emplace_back(held[at(layer)].size() * at(pool.stride()));
    pool.readRecords(held[at(layer)], out.back().data());
  }
  return out;
}

void writeRows(SessionParts& parts, const CacheState& state, const std::vector<StoredRows>& rows) {
  const LayerSlots held = parts.layouts.heldBy(state);
  for (const CacheLayer layer : parts.store.layers())
    parts.store.pool(layer).writeRecords(held[at(layer)], rows[at(layer)].data());
}

}  // namespace kvlab
