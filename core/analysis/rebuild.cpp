// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/rebuild.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "core/analysis/drift_meter.h"
#include "core/edit/group_pass.h"
#include "core/edit/recompute.h"
#include "core/model/decoder/backend_status.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A group's residency map with scratch records for slots.
struct ScratchView {
  std::vector<std::int32_t> records;  // [map rows]
  GroupPass pass;
  std::vector<std::int32_t> self;  // [rows] record of a row that the map lacks, -1 = it has it; or empty
};

class RebuildPass {
 public:
  RebuildPass(const RebuildInput& input, bool computed) : m_in(input), m_state(input.state), m_computed(computed) {
    for (std::int32_t p = 0; p < m_state.length(); ++p)
      if (m_state.ledger[m_state.context[at(p)]].state == RowState::Live) {
        m_rows.push_back(targetAt(m_state, p));
        m_positions.push_back(p);
        m_tags.push_back(static_cast<std::uint64_t>(m_rows.back().id.value()));
      }
    m_writes.resize(m_rows.size());
    std::iota(m_writes.begin(), m_writes.end(), 0);
    for (const LayerGroup& group : m_state.groups) m_views.push_back(view(group));
  }

  Result<std::vector<float>> run(const std::function<Status(const RebuiltLayer&)>& sink, const CacheStore& store,
                                 const Progress& progress) {
    std::vector<float> logits;
    if (m_rows.empty()) return logits;
    Transformer& t = m_in.transformer;
    kernels::Staging staging(t.backend());
    std::vector<std::int32_t> tokens;
    for (const RowTarget& row : m_rows) tokens.push_back(row.token.value());
    const auto n = static_cast<std::int64_t>(m_rows.size());
    for (const ScratchView& view : m_views) t.rotary().index(Phase(view.pass.phase.back()));
    place(staging);
    logits.resize(at(t.model().config().vocab));
    float* out = staging.out(logits.data(), logits.size());
    t.embed(staging.in(tokens), n, m_x);
    const int layers = t.model().config().layers;
    for (int layer = 0; layer < layers; ++layer) {
      if (progress && !progress("rebuilding layers", layer, layers))
        return Error{"cancelled", "the rebuild was cancelled",
                     "layers 0 to " + std::to_string(layer - 1) + " were done", "run it again to rebuild the rest"};
      std::vector<RowPool*> scratch;  // of the cache layers in this one
      for (int part = 0; part < m_state.perLayer; ++part) {
        Result<RowPool*> one = scratchFor(store.pool(layer * m_state.perLayer + part).format(), part);
        if (!one) return one.error();
        scratch.push_back(*one);
      }
      if (Status done = runLayer(layer, scratch); !done) return done.error();
      for (int part = 0; part < m_state.perLayer; ++part) {
        const int own = layer * m_state.perLayer + part;
        if (Status done = sink({own, *scratch[at(part)], m_positions, m_k, m_v, m_query, passOf(own).phase}); !done)
          return done.error();
      }
    }
    t.logits(m_x + (n - 1) * t.hidden(), 1, out);
    staging.finish();
    if (Status done = backendStatus(t.backend(), "the rebuild"); !done) return done.error();
    return logits;
  }

 private:
  const LayerPass& passOf(int layer) const { return m_passes[at(m_state.groupOf[at(layer)])]; }

  /// One pool per format and per part of a layer, because calls on the other pools may still be under way.
  Result<RowPool*> scratchFor(const kernels::RowFormat& format, int part) {
    for (RowPool& pool : m_scratch)
      if (pool.format() == format && part-- == 0) return &pool;
    Result<RowPool> made =
        RowPool::create(m_in.transformer.backend(), format, static_cast<std::int32_t>(m_rows.size()));
    if (!made) return made.error();
    return &m_scratch.emplace_back(made.take());
  }

  ScratchView view(const LayerGroup& group) const {
    ScratchView out{{}, groupPass(m_state.context, group, m_rows, m_in.cachePhases, LeftRows::Present), {}};
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
      if (out.pass.resident[i]) out.records.push_back(static_cast<std::int32_t>(i));
      if (!out.pass.allResident) out.self.push_back(out.pass.resident[i] ? -1 : static_cast<std::int32_t>(i));
    }
    return out;
  }

  /// Brings what ops read to where they read it.
  void place(kernels::Staging& staging) {
    for (std::size_t g = 0; g < m_views.size(); ++g) {
      const ScratchView& view = m_views[g];
      LayerPass pass;
      pass.slots = staging.in(view.records);
      pass.phases = staging.in(m_state.groups[g].map->phases.span());
      pass.rows = static_cast<std::int64_t>(view.records.size());
      pass.phase = staging.in(view.pass.phase);
      pass.rowBegin = staging.in(view.pass.rowBegin);
      pass.rowEnd = staging.in(view.pass.rowEnd);
      pass.write = staging.in(m_writes);
      pass.tags = staging.in(m_tags);
      pass.selfSlot = view.self.empty() ? nullptr : staging.in(view.self);
      m_passes.push_back(pass);
    }
    m_x = staging.temporary<float>(m_rows.size() * at(m_in.transformer.hidden()));
    if (!m_computed) return;
    const ModelConfig& config = m_in.transformer.model().config();
    for (float** values : {&m_k, &m_v})
      *values = staging.temporary<float>(m_rows.size() * at(std::int64_t{config.kvHeads} * config.headDim));
    m_query = staging.temporary<float>(at(std::int64_t{config.heads} * config.headDim));
  }

  /// K and V of rows [begin, begin+n) from the layer's input, and the query of the last row of all.
  void compute(int layer, std::int64_t begin, std::int64_t n, const LayerPass& pass) {
    Transformer& t = m_in.transformer;
    const ModelConfig& config = t.model().config();
    const std::int64_t width = std::int64_t{config.kvHeads} * config.headDim;
    const auto rope = [&](float* x, const std::int32_t* phases, std::int64_t rows, int heads) {
      t.ops().rope(t.backend().context(), {x, phases, t.table(), rows, heads, config.headDim, 0});
    };
    float *k = m_k + begin * width, *v = m_v + begin * width;
    if (begin + n == static_cast<std::int64_t>(m_rows.size())) {  // K and V of this row are written again below
      t.projectTo(layer, 1, m_x + (begin + n - 1) * t.hidden(), k + (n - 1) * width, v + (n - 1) * width, m_query);
      rope(m_query, pass.phase + n - 1, 1, config.heads);
    }
    t.projectTo(layer, n, m_x + begin * t.hidden(), k, v);
    if (t.keysRotated()) rope(k, pass.phase, n, config.kvHeads);
  }

  Status runLayer(int layer, const std::vector<RowPool*>& scratch) {
    const std::int64_t chunk = m_in.transformer.maxRows();
    const auto total = static_cast<std::int64_t>(m_rows.size());
    for (std::int64_t begin = 0, n = 0; begin < total; begin += n) {
      if (Status passed = m_in.faults.pass(FaultPoint::Kernel, "a rebuild"); !passed) return passed;
      n = std::min(chunk, (begin < m_in.split ? std::min(m_in.split, total) : total) - begin);
      std::vector<LayerPass> parts;
      for (std::size_t part = 0; part < scratch.size(); ++part)
        parts.push_back(from(passOf(layer * m_state.perLayer + static_cast<int>(part)), begin, *scratch[part]));
      if (m_computed) compute(layer, begin, n, parts[0]);
      if (m_in.aim) m_in.aim(layer, begin, parts[0]);
      m_in.transformer.layer(layer, parts, n, m_x + begin * m_in.transformer.hidden());
    }
    return ok();
  }

  /// The pass of all rows from row `begin` on, over scratch records.
  static LayerPass from(LayerPass pass, std::int64_t begin, const RowPool& scratch) {
    pass.pool = scratch.data();
    pass.format = scratch.format();
    for (const std::int32_t** list : {&pass.phase, &pass.rowBegin, &pass.rowEnd, &pass.write}) *list += begin;
    pass.tags += begin;
    if (pass.selfSlot) pass.selfSlot += begin;
    return pass;
  }

  const RebuildInput& m_in;
  const CacheState& m_state;
  std::vector<RowTarget> m_rows;
  std::vector<std::int32_t> m_positions, m_writes;  // [rows]
  std::vector<std::uint64_t> m_tags;                // [rows]
  std::vector<ScratchView> m_views;                 // [groups]
  std::deque<RowPool> m_scratch;
  std::vector<LayerPass> m_passes;       // [groups] of all rows, where ops read them
  bool m_computed;                       // K, V and the newest query are kept before storing
  float* m_x = nullptr;                  // [rows, hidden]
  float *m_k = nullptr, *m_v = nullptr;  // [rows, kvHeads*headDim] of the present layer
  float* m_query = nullptr;              // [heads*headDim]
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

Result<std::vector<float>> rebuildPass(const RebuildInput& input,
                                       const std::function<Status(const RebuiltLayer&)>& sink, const CacheStore& store,
                                       const Progress& progress, bool computed) {
  return RebuildPass(input, computed).run(sink, store, progress);
}

Result<RebuildOutcome> rebuild(const RebuildInput& input, CacheStore& store, const Progress& progress) {
  RebuildOutcome outcome;
  const auto copy = [&](const RebuiltLayer& layer) -> Status {
    if (Status passed = input.faults.pass(FaultPoint::Copy, "copying rebuilt rows"); !passed) return passed;
    const Pairs pairs = residentPairs(input.state, layer);
    std::vector<kernels::RowMove> moves;
    for (std::size_t i = 0; i < pairs.slots.size(); ++i) moves.push_back({pairs.records[i], pairs.slots[i], 1});
    store.pool(layer.layer).move(layer.rows, moves);
    ++outcome.layersDone;
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

Result<Drift> drift(const RebuildInput& input, const CacheStore& store, std::span<const float> logits,
                    const Progress& progress) {
  DriftMeter meter(input.state.length());
  const auto compare = [&](const RebuiltLayer& layer) -> Status {
    const Pairs pairs = residentPairs(input.state, layer);
    meter.add(layer.layer, store.pool(layer.layer), pairs.slots, layer.rows, pairs.records, pairs.positions);
    return ok();
  };
  Result<std::vector<float>> rebuilt = rebuildPass(input, compare, store, progress);
  if (!rebuilt) return rebuilt.error();
  return std::move(meter).finish(*rebuilt, logits);
}

}  // namespace kvlab
