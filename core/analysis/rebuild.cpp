// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/rebuild.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "core/analysis/metrics.h"
#include "core/edit/recompute.h"
#include "core/edit/row_driver.h"
#include "core/model/decoder/row_codec.h"
#include "core/state/mirror_map.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

/// The live rows of a state in scratch pools, and the newest, which tells the next token: row i of the pass is record
/// i.
class ScratchRows : public RowDriver {
 public:
  using Sink = std::function<Status(const RebuiltLayer&)>;

  ScratchRows(const RebuildInput& input, const CacheStore& store, const Sink& sink, bool computed)
      : RowDriver(input.transformer, input.faults, {.logits = true}, input.state.cacheLayers()),
        m_in(input),
        m_state(input.state),
        m_store(store),
        m_sink(sink) {
    for (const LayerGroup& group : m_state.groups) m_groups.push_back(sound(group));
    for (std::int32_t p = 0; p < m_state.length(); ++p)
      if (p + 1 == m_state.length() || present(m_state.context[at(p)])) {
        m_rows.push_back(targetAt(m_state, p));
        m_positions.push_back(p);
      }
    if (!computed && !input.aim && !m_rows.empty() && anyLeft()) m_rows.push_back(m_rows.back()), m_asked = true;
    m_writes.resize(m_rows.size());
    std::iota(m_writes.begin(), m_writes.end(), 0);
    if (m_rows.empty()) return;
    for (const LayerGroup& group : m_groups) place(group);
    if (!computed) return;
    const ModelConfig& config = m_transformer.model().config();
    for (float** values : {&m_k, &m_v}) *values = m_staging.temporary<float>(at(count() * width()));
    m_query = m_staging.temporary<float>(at(std::int64_t{config.heads} * config.headDim));
  }

  Result<std::vector<float>> run(const Progress& progress) {
    if (m_rows.empty()) return std::vector<float>();
    RowsBrought brought = KV_TRY(byLayers(progress));
    return std::move(brought.logits);
  }

 protected:
  RowsChunk chunk(std::int64_t begin, std::int64_t most) override {
    return RowDriver::chunk(begin, begin < m_in.split ? std::min(most, m_in.split - begin) : most);
  }

  LayerPass pass(CacheLayer layer, const RowsChunk& chunk) override {
    LayerPass one = fromRow(m_placed[groupOf(layer)], chunk.begin);
    readFrom(one, scratch(layer), scratch(layer).stats());
    return one;
  }

  Status beginLayer(Layer layer) override {
    m_scratch.clear();
    const ModelConfig& config = m_transformer.model().config();
    const CacheLayers pools{config.layers, static_cast<int>(m_store.layers().size()) / config.layers};
    kernels::RowFormat format = m_store.pool(pools.of(layer)[0]).format();  // the same in all of the layer
    format.kvHeads = config.kvHeads / m_layers.perLayer;
    format = KV_TRY(withTypes(format, m_in.types.k, m_in.types.v));
    for (int part = 0; part < m_layers.perLayer; ++part) m_scratch.push_back(KV_TRY(scratchFor(format, part)));
    return ok();
  }

  void beginChunk(Layer layer, const RowsChunk& chunk, LayerPass& first, const float* x) override {
    if (m_k) compute(layer, chunk, first, x);
    if (m_in.aim) m_in.aim(chunk.begin, first);
  }

  Status endLayer(Layer layer) override {
    for (const CacheLayer own : m_layers.of(layer))
      KV_TRY(m_sink({own, scratch(own), m_positions, m_k, m_v, m_query, m_placed[groupOf(own)].phase}));
    return ok();
  }

  void endLayers(const float* x) override {
    if (m_in.last) m_in.last(x);
  }

 private:
  /// A group's residency map with scratch records for slots.
  struct Lists {
    std::vector<std::int32_t> records;  // [map rows]
    GroupPass pass;
    std::vector<std::int32_t> self;  // [rows] record of a row that the map lacks, -1 = it has it; or empty
  };

  /// A damaged map does not decide what a rebuild computes.
  LayerGroup sound(LayerGroup group) {
    if (followsMirror(m_state, group, m_in.cachePhases)) return group;
    group.map = mapByMirror(m_state, group, m_in.cachePhases);
    m_lost.resize(m_state.ledger.size());
    for (const LedgerId id : group.map->ledger) m_lost[at(id.value())] = true;
    return group;
  }

  /// Some map lists the row, also one that damage has taken it from.
  bool present(LedgerId id) const {
    return counted(m_state.ledger[id].state) || (!m_lost.empty() && m_lost[at(id.value())]);
  }

  bool anyLeft() const {
    return std::any_of(m_groups.begin(), m_groups.end(), [](const LayerGroup& group) { return group.map->first > 0; });
  }

  std::size_t groupOf(CacheLayer layer) const { return at(m_state.groupOf[at(layer)]); }
  RowPool& scratch(CacheLayer layer) const { return *m_scratch[at(m_layers.partOf(layer))]; }
  std::int64_t width() const {
    return std::int64_t{m_transformer.model().config().kvHeads} * m_transformer.model().config().headDim;
  }

  /// One pool per format, as calls on the others may still be under way, and for each part of a layer.
  Result<RowPool*> scratchFor(const kernels::RowFormat& format, int part) {
    for (RowPool& pool : m_pools)
      if (pool.format() == format && part-- == 0) return &pool;
    RowPool made = KV_TRY(RowPool::create(m_transformer.backend(), format, static_cast<std::int32_t>(count())));
    return &m_pools.emplace_back(std::move(made));
  }

  /// The newest row once more, as a query over the resident rows: the next token sees no row that has left.
  static void ask(GroupPass& pass, const GroupPass& query) {
    pass.phase.push_back(query.phase[0]);
    pass.rowBegin.push_back(query.rowBegin[0]);
    pass.rowEnd.push_back(query.rowEnd[0]);
    pass.resident.push_back(query.resident[0]);
    pass.allResident = pass.allResident && query.allResident;
  }

  /// Copies the arguments of ops to memory that ops can read.
  void place(const LayerGroup& group) {
    Lists& lists = m_lists.emplace_back();
    const std::span<const RowTarget> rows(m_rows.data(), m_positions.size());
    lists.pass = groupPass(m_state.context, group, rows, m_in.cachePhases, LeftRows::Present);
    if (m_asked) ask(lists.pass, groupPass(m_state.context, group, rows.last(1), m_in.cachePhases, LeftRows::Gone));
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count()); ++i) {
      const bool resident = lists.pass.resident[at(i)];
      if (resident && i < std::ssize(m_positions)) lists.records.push_back(i);
      if (!lists.pass.allResident) lists.self.push_back(resident ? -1 : i);
    }
    const std::int32_t newest = lists.pass.phase.back(),
                       last = group.map->phases.empty() ? 0 : group.map->phases[group.map->size() - 1];
    m_transformer.rotary().index(Phase(newest));
    m_reach = std::max({m_reach, std::int64_t{newest} + 1, std::int64_t{last} + 1});
    m_transformer.rotary().reach(m_reach);
    LayerPass& one = m_placed.emplace_back(
        placed(lists.pass, m_staging.in(lists.records), m_staging.in(group.map->phases.span()), lists.records.size()));
    one.write = m_staging.in(m_writes);
    one.selfSlot = lists.self.empty() ? nullptr : m_staging.in(lists.self);
  }

  /// K and V of a chunk from the layer's input, and the query of the last row of all.
  void compute(Layer layer, const RowsChunk& chunk, const LayerPass& first, const float* x) {
    Transformer& t = m_transformer;
    const ModelConfig& config = t.model().config();
    const std::int64_t n = chunk.n;
    float *k = m_k + chunk.begin * width(), *v = m_v + chunk.begin * width();
    if (chunk.newest)  // K and V of this row are written again below
      t.projectTo(layer, 1, x + (n - 1) * t.hidden(), k + (n - 1) * width(), v + (n - 1) * width(), m_query);
    t.projectTo(layer, n, x, k, v);
    if (t.keysRotated())
      t.ops().rope(t.backend().context(), {k, first.phase, t.table(layer), n, config.kvHeads, config.headDim, 0});
  }

  const RebuildInput& m_in;
  const CacheState& m_state;
  const CacheStore& m_store;
  const Sink& m_sink;
  std::vector<LayerGroup> m_groups;                 // those of the state, with sound maps
  std::vector<bool> m_lost;                         // [ledger] rows of maps that had to be made anew; empty = none
  std::int64_t m_reach = 0;                         // one past the last phase that was placed
  std::vector<std::int32_t> m_positions, m_writes;  // [rows]; positions without the row that only asks
  bool m_asked = false;                             // the last row only asks for the next token
  std::deque<Lists> m_lists;                        // [groups]; addresses stay
  std::vector<LayerPass> m_placed;                  // [groups] arguments for all rows, without pools
  std::deque<RowPool> m_pools;
  std::vector<RowPool*> m_scratch;       // [parts] scratch pools of the present layer
  float *m_k = nullptr, *m_v = nullptr;  // [rows, kvHeads*headDim] K and V of the present layer before storing; or null
  float* m_query = nullptr;              // [heads*headDim] query of the newest row, likewise
};

/// Pairs (scratch record, live slot) of the rows that are resident in a layer.
struct Pairs {
  std::vector<std::int32_t> records, slots, positions;
};

Pairs residentPairs(const CacheState& state, const RebuiltLayer& layer) {
  Pairs pairs;
  const ResidencyView& map = state.map(layer.layer);
  std::size_t index = 0;
  for (std::size_t i = 0; i < layer.positions.size() && index < map.size(); ++i) {
    if (map.ledger[index] != state.context[at(layer.positions[i])]) continue;
    if (!map.has(index++)) continue;
    pairs.records.push_back(static_cast<std::int32_t>(i));
    pairs.slots.push_back(map.slotOf[index - 1].value());
    pairs.positions.push_back(layer.positions[i]);
  }
  return pairs;
}

}  // namespace

CacheState withAllRows(const CacheState& state) {
  CacheState all = state;
  for (const LedgerId id : state.context)
    if (all.ledger[id].state != RowState::Live) all.ledger.change(id).state = RowState::Live;
  auto map = std::make_shared<ResidencyView>();
  map->ledger = state.context;
  map->phases = state.phases;
  map->slotOf.assign(std::vector<Slot>(at(state.length()), Slot(0)));  // the pass puts rows into scratch of its own
  if (all.perLayer > 1) {
    all.groups.clear();
    all.groupOf.clear();
    for (const Layer layer : state.cacheLayers().ofModel()) {
      all.groupOf.push_back(static_cast<std::int32_t>(all.groups.size()));
      all.groups.push_back(state.group(state.cacheLayers().of(layer)[0]));
    }
    all.perLayer = 1;
  }
  for (LayerGroup& group : all.groups) {
    group.map = map;
    group.evicted = {};
    group.absent = 0;
    group.idSums = group.phasedSums = {};
  }
  return all;
}

Result<std::vector<float>> rebuildPass(const RebuildInput& input,
                                       const std::function<Status(const RebuiltLayer&)>& sink, const CacheStore& store,
                                       const Progress& progress, bool computed) {
  return ScratchRows(input, store, sink, computed).run(progress);
}

Error notRebuilt(LedgerId id) {
  return Error("out_of_range", "the row was not compared with a rebuild",
               "a rebuild does not compute ledger row " + std::to_string(id.value()), "choose a row of the context",
               "index", id.value());
}

Result<RowPair> rebuiltRow(const RebuildInput& input, const CacheStore& store, CacheLayer layer, LedgerId id,
                           const Progress& progress) {
  std::optional<RowPair> out;
  const auto take = [&](const RebuiltLayer& one) -> Status {
    if (one.layer != layer) return ok();
    const auto isIt = [&](std::int32_t position) { return input.state.context[at(position)] == id; };
    const auto found = std::find_if(one.positions.begin(), one.positions.end(), isIt);
    if (found == one.positions.end()) return notRebuilt(id);
    const auto record = static_cast<std::int32_t>(found - one.positions.begin());
    out.emplace(RowPair{std::vector<float>(at(one.rows.width())), std::vector<float>(at(one.rows.width()))});
    one.rows.gather({&record, 1}, out->k.data(), out->v.data());
    return ok();
  };
  KV_TRY(rebuildPass(input, take, store, progress));
  if (!out) return notRebuilt(id);
  return std::move(*out);
}

Result<RebuildOutcome> rebuild(const RebuildInput& input, CacheStore& store, const Progress& progress) {
  RebuildOutcome outcome;
  const auto copy = [&](const RebuiltLayer& layer) -> Status {
    KV_TRY(input.faults.pass(FaultPoint::Copy, "copying rebuilt rows"));
    const Pairs pairs = residentPairs(input.state, layer);
    store.overwrites(layer.layer, pairs.slots);
    std::vector<kernels::RowMove> moves;
    for (std::size_t i = 0; i < pairs.slots.size(); ++i) moves.push_back({pairs.records[i], pairs.slots[i], 1});
    store.pool(layer.layer).move(layer.rows, moves);
    outcome.layersDone = (layer.layer.value() + 1) / input.state.perLayer;
    return ok();
  };
  Result<std::vector<float>> logits = rebuildPass(input, copy, store, progress);
  if (logits) {
    outcome.logits = logits.take();
    return outcome;
  }
  if (logits.error().code != "cancelled") return logits.error();
  outcome.cancelled = true;
  return outcome;
}

void DriftMeter::add(CacheLayer layer, const RowPool& live, std::span<const std::int32_t> slots, const RowPool& rebuilt,
                     std::span<const std::int32_t> records, std::span<const std::int32_t> positions) {
  const auto n = static_cast<std::int64_t>(slots.size());
  const std::int64_t width = live.width();
  kernels::Backend& backend = live.backend();
  kernels::Staging staging(backend);
  float *was[2], *is[2];
  for (float** values : {&was[0], &was[1], &is[0], &is[1]}) *values = staging.temporary<float>(at(n * width));
  backend.ops().gatherRows(backend.context(), {live.data(), live.format(), staging.in(slots), n, was[0], was[1]});
  backend.ops().gatherRows(backend.context(), {rebuilt.data(), rebuilt.format(), staging.in(records), n, is[0], is[1]});
  std::vector<double> relatives[2], cosines[2];
  for (int side = 0; side < 2; ++side) {
    relatives[side].resize(at(n));
    cosines[side].resize(at(n));
    backend.ops().diffRows(backend.context(),
                           {was[side], is[side], n, width, staging.out(relatives[side].data(), at(n)),
                            staging.out(cosines[side].data(), at(n)), nullptr});
  }
  staging.finish();
  for (int side = 0; side < 2; ++side) {
    const std::vector<double>&relative = relatives[side], &cosine = cosines[side];
    std::vector<float> rows(at(m_length), std::numeric_limits<float>::quiet_NaN());
    double largest = 0, smallest = 1;
    for (std::size_t i = 0; i < at(n); ++i) {
      // A row with a not-a-number is infinitely far away.
      const double apart = std::isnan(relative[i]) ? std::numeric_limits<double>::infinity() : relative[i];
      rows[at(positions[i])] = static_cast<float>(apart);
      largest = std::max(largest, apart);
      smallest = std::min(smallest, std::isnan(cosine[i]) ? -1 : cosine[i]);
      if (apart > m_worst) {
        m_worst = apart;
        m_out.worstLayer = layer;
        m_out.worstPosition = positions[i];
      }
    }
    (side == 0 ? m_out.k : m_out.v).push_back(largest);
    (side == 0 ? m_out.kCosine : m_out.vCosine).push_back(smallest);
    (side == 0 ? m_out.kRows : m_out.vRows).push_back(std::move(rows));
  }
}

Drift DriftMeter::finish(std::span<const float> rebuilt, std::span<const float> live) && {
  if (!rebuilt.empty() && rebuilt.size() == live.size()) m_out.kl = klDivergence(rebuilt, live);
  return std::move(m_out);
}

Result<Drift> drift(const RebuildInput& input, const CacheStore& store, std::span<const float> logits,
                    const Progress& progress) {
  DriftMeter meter(input.state.length());
  const auto compare = [&](const RebuiltLayer& layer) -> Status {
    const Pairs pairs = residentPairs(input.state, layer);
    meter.add(layer.layer, store.pool(layer.layer), pairs.slots, layer.rows, pairs.records, pairs.positions);
    return ok();
  };
  std::vector<float> rebuilt = KV_TRY(rebuildPass(input, compare, store, progress));
  return std::move(meter).finish(rebuilt, logits);
}

}  // namespace kvlab
