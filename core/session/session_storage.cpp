// SPDX-License-Identifier: Apache-2.0
// How rows are stored: what snapshots say of it, and changing it while the session lives.
#include <algorithm>

#include "core/model/decoder/backend_status.h"
#include "core/session/session.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
constexpr std::size_t kChunk = 256;  // rows converted at a time

/// Bytes of a record by kind, from its layout.
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

/// Read and written to assemble what one query of the newest row reads.
std::int64_t readBytes(const LayerGroup& group, const kernels::RowFormat& format) {
  if (group.read == ReadPath::InPlace) return 0;
  std::int64_t rows = static_cast<std::int64_t>(group.map->resident());
  if (group.tailOnly && group.window > 0) rows = std::min<std::int64_t>(rows, group.window);
  const std::int64_t stride = kernels::rowLayout(format).stride;
  if (group.read != ReadPath::Roll) return 2 * rows * stride;
  kernels::RowFormat plain = format;
  plain.k = plain.v = kernels::DType::f32;
  const std::int64_t values = 8 * std::int64_t{format.kvHeads} * format.headDim;  // K and V as f32
  return rows * (stride + 2 * values + kernels::rowLayout(plain).stride);
}

/// Rows of one layer from a pool to another, converted where the formats differ.
void carry(const RowPool& from, std::span<const Slot> source, RowPool& to, std::span<const Slot> target,
           const Column<LedgerId>& ids, std::size_t first) {
  const bool same = from.format() == to.format();
  std::vector<std::uint8_t> records(same ? kChunk * at(to.stride()) : 0);
  std::vector<float> k(same ? 0 : kChunk * at(to.width())), v(k.size());
  std::vector<std::uint64_t> tags;
  for (std::size_t begin = 0; begin < source.size(); begin += kChunk) {
    const std::size_t n = std::min(kChunk, source.size() - begin);
    if (same) {
      from.readRecords(source.subspan(begin, n), records.data());
      to.writeRecords(target.subspan(begin, n), records.data());
      continue;
    }
    tags.clear();
    for (std::size_t i = begin; i < begin + n; ++i) tags.push_back(static_cast<std::uint64_t>(ids[first + i].value()));
    from.gather(plain(source.subspan(begin, n)), k.data(), v.data());
    to.write(plain(target.subspan(begin, n)), k.data(), v.data(), tags.data());
  }
}

}  // namespace

std::vector<std::shared_ptr<const StorageView>> Session::storage() const {
  std::vector<std::shared_ptr<const StorageView>> out;
  for (int layer = 0; layer < m_store.layers(); ++layer) {
    const RowPool& pool = m_store.pool(layer);
    const LayerGroup& group = m_state.group(layer);
    const auto alike = [&](int other) {
      return m_state.groupOf[at(other)] == m_state.groupOf[at(layer)] && m_store.pool(other).format() == pool.format();
    };
    int first = 0;
    while (first < layer && !alike(first)) ++first;
    if (first < layer) {
      out.push_back(out[at(first)]);
      continue;
    }
    auto view = std::make_shared<StorageView>();
    view->layout = m_layouts.layout(layer).name();
    view->k = kernels::dtypeName(pool.format().k);
    view->v = kernels::dtypeName(pool.format().v);
    view->poolSlots = pool.slots();
    view->stride = static_cast<std::int32_t>(pool.stride());
    view->rows = static_cast<std::int32_t>(group.map->resident());
    view->first = group.map->first;
    view->window = group.window;
    view->held = pool.slots() - m_store.slots(layer).available();
    view->record = bytesOf(pool.format());
    view->read = group.read;
    view->tailOnly = group.tailOnly;
    view->readBytes = readBytes(group, pool.format());
    view->ring = group.ring;
    view->pages = m_layouts.layout(layer).pages(group, m_store.slots(layer));
    out.push_back(std::move(view));
  }
  return out;
}

Status Session::setLayout(int layer, const std::string& layout) {
  if (Result<LayoutSpec> spec = parseLayout(layout); !spec) return spec.error();
  Manifest wanted = m_manifest;
  if (layer >= 0) {
    LayerOverride one;
    one.from = one.to = layer;
    one.layout = layout;
    wanted.layers.push_back(std::move(one));
  } else {
    wanted.layout = layout;
    for (LayerOverride& one : wanted.layers) one.layout.clear();
  }
  return restore(std::move(wanted));
}

Status Session::setFormat(int layer, const std::string& k, const std::string& v) {
  for (const std::string* type : {&k, &v})
    if (!type->empty() && std::find(rowTypes().begin(), rowTypes().end(), *type) == rowTypes().end())
      return Error{"bad_manifest",
                   "the format was not changed",
                   *type + " is not a row format",
                   "f32, f16, bf16, int8 or fp8-e4m3",
                   std::nullopt,
                   type == &k ? "k" : "v",
                   *type};
  Manifest wanted = m_manifest;
  LayerOverride one;
  one.from = one.to = layer;
  if (layer < 0) {
    one.from = 0;
    one.to = m_cacheLayers.layers - 1;
    for (LayerOverride& old : wanted.layers) {
      if (!k.empty()) old.kvK.clear();
      if (!v.empty()) old.kvV.clear();
    }
    if (!k.empty()) wanted.kvK = k;
    if (!v.empty()) wanted.kvV = v;
    return restore(std::move(wanted));
  }
  one.kvK = k;
  one.kvV = v;
  wanted.layers.push_back(std::move(one));
  return restore(std::move(wanted));
}

/// Rows that a cache layer has and must have room for; heads that share a budget, on average.
std::int64_t Session::rowsNeeded(int layer) const {
  const int parts = m_cacheLayers.perLayer, first = layer / parts * parts;
  if (!m_state.policy || !m_state.policy->layers[at(layer)].budget)
    return static_cast<std::int64_t>(m_state.map(layer).size());
  std::int64_t all = 0;
  for (int part = first; part < first + parts; ++part)
    all += m_state.policy->audit.layers[at(part)].bands.capacity() + m_manifest.ring.blockTokens;
  return (all + parts - 1) / parts;
}

Status Session::setCapacity(std::int64_t rows) {
  if (rows < 1 || rows >= m_maxPhases)
    return Error{"capacity",
                 "the capacity was not changed",
                 std::to_string(rows) + " rows are outside 1 .. " + std::to_string(m_maxPhases - 1),
                 "open a session with a larger capacity",
                 std::nullopt,
                 "rows",
                 rows};
  for (int layer = 0; layer < m_state.layers(); ++layer)
    if (const std::int64_t needed = rowsNeeded(layer); needed > rows && !m_state.group(layer).keep)
      return Error{"capacity",
                   "the capacity was not changed",
                   "layer " + m_cacheLayers.name(Layer(layer)) + " needs " + std::to_string(needed) +
                       " rows, more than " + std::to_string(rows),
                   "give room for them, or evict rows first",
                   std::nullopt,
                   "rows",
                   rows};
  Manifest wanted = m_manifest;
  wanted.capacity = rows;
  const std::int64_t before = std::exchange(m_capacity, rows);
  Status done = restore(std::move(wanted));
  if (!done) m_capacity = before;
  return done;
}

/// Moves the content into pools made as `wanted` says. The old pools stay until all rows are over.
Status Session::restore(Manifest wanted) {
  if (Status usableNow = usable(); !usableNow) return usableNow;
  if (Status possible = withoutWlod("the storage was not changed"); !possible) return possible;
  std::swap(m_manifest, wanted);
  const auto refused = [&](const Error& error) {
    std::swap(m_manifest, wanted);
    return error;
  };
  LayoutSet layouts;
  std::vector<kernels::RowFormat> formats;
  if (Status planned = planStorage(layouts, formats, m_state.policy.get()); !planned) return refused(planned.error());
  std::vector<LayerPool> pools = layouts.pools(formats);
  if (Status fits = planMemory(pools); !fits) return refused(fits.error());
  Result<CacheStore> made = CacheStore::create(*m_backend, std::move(pools));
  if (!made) return refused(made.error());
  CacheStore store = made.take();

  CacheState next = m_state;
  CacheState empty;
  layouts.start(empty, windows());
  const auto make = [&](int layer) {
    LayerGroup group = m_state.group(layer);
    static_cast<GroupRules&>(group) = empty.group(layer);
    auto map = std::make_shared<ResidencyView>(*group.map);
    const auto size = static_cast<std::int32_t>(map->size());
    if (group.keep) map->first = std::max(map->first, size - group.keep);
    std::vector<Slot> slots(at(map->first), Slot(-1));
    const std::vector<Slot> taken = store.slots(layer).take(size - map->first);
    slots.insert(slots.end(), taken.begin(), taken.end());
    map->slotOf.assign(slots);
    if (group.ring) {
      group.ring->filled = size - map->first;
      group.ring->offset = size;
      group.ring->base = (size - group.ring->pointer()) % group.ring->capacity;
      group.ring->baseTick = m_state.tick;
    }
    group.map = std::move(map);
    return group;
  };
  for (int layer = 0; layer < m_store.layers(); ++layer)
    if (store.slots(layer).available() < static_cast<std::int32_t>(m_state.map(layer).resident()) &&
        !layouts.demand(layer).keep)
      return refused({"capacity", "the storage was not changed",
                      "layer " + m_cacheLayers.name(Layer(layer)) + " has no room for its rows",
                      "raise capacity, or choose another layout"});
  regroup(
      next, [&](int a, int b) { return layouts.alike(a, b); }, make, [](int, int) {});
  bool converted = false, dropped = false;
  for (int layer = 0; layer < m_store.layers(); ++layer) {
    const ResidencyView &before = m_state.map(layer), &after = next.map(layer);
    const auto first = at(after.first);
    carry(m_store.pool(layer), before.slotOf.span().subspan(first), store.pool(layer), after.residentSlots(),
          after.ledger, first);
    dropped = dropped || after.first != before.first;
    converted = converted || !(m_store.pool(layer).format() == store.pool(layer).format());
  }
  if (Status done = backendStatus(*m_backend, "converting rows"); !done) return refused(done.error());
  layouts.restart(store, next);
  next.logitsStale = next.length() > 0 && (m_state.logitsStale || converted || dropped);
  next.edited = next.edited || converted;
  m_timeline.dropAll(m_store, false);
  m_store = std::move(store);
  m_layouts = std::move(layouts);
  record(std::move(next), {}, {});
  m_timeline.dropAll(m_store, false);
  m_info = describe();
  checkInvariants(true);
  return ok();
}

/// Slots are no part of what a session remembers: no step of the history, and nothing to undo.
Result<Compaction> Session::compact(std::int64_t most) {
  if (Status usableNow = usable(); !usableNow) return usableNow.error();
  CacheState next = m_state;
  Compaction all;
  m_timeline.dropAll(m_store, !m_layouts.inPlace());  // what moves is named by older states, too
  const std::vector<std::vector<int>> layers = layersOf(next);
  LayoutContext context{m_store, m_faults};
  for (std::size_t g = 0; g < next.groups.size(); ++g) {
    Result<Compaction> done = m_layouts.layout(layers[g].front()).compact(next.groups[g], layers[g], context, most);
    if (!done) {
      breakSession(done.error().text());
      return done.error();
    }
    all.rows += done->rows;
    all.bytes += done->bytes;
    all.done = all.done && done->done;
  }
  if (all.rows == 0) return all;
  m_bytesMoved = all.bytes;
  m_state = std::move(next);
  m_timeline.adopt(m_timeline.currentId(), m_state);
  checkInvariants(false);
  return all;
}

}  // namespace kvlab
