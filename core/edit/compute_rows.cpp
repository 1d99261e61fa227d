// SPDX-License-Identifier: Apache-2.0
#include "core/edit/compute_rows.h"

#include <bit>

#include "core/edit/assembly.h"
#include "core/edit/group_pass.h"
#include "core/edit/moment_sums.h"
#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/gate_weights.h"
#include "core/state/provenance.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A group's maps and masks where ops read them.
struct PlacedGroup {
  MapMirror::View map;
  const std::int32_t *phase, *rowBegin, *rowEnd;  // [rows]
};

/// Up to so many rows are scored by one call for all layers: few gates alone do not keep a machine busy.
constexpr std::int64_t kScoredTogether = 8;

/// The arrays that attention of one layer fills; null = not asked for.
struct Masses {
  float *newest = nullptr, *perHead = nullptr, *received = nullptr, *receivedPerHead = nullptr;
};

class Pass {
 public:
  Pass(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob& job)
      : m_transformer(transformer),
        m_store(store),
        m_faults(faults),
        m_job(job),
        m_staging(transformer.backend()),
        m_assemblies(m_staging),
        m_perLayer(static_cast<int>(job.groupOf.size()) / transformer.model().config().layers) {
    extendSums(job.contextSums, job.context.size(), [&](std::size_t i) { return idWord(job.context[i]); });
    for (LayerGroup& group : job.groups) {
      extendSums(*group.map, group.idSums, group.phasedSums);
      m_groups.push_back(groupPass(job.context, group, job.rows, job.cachePhases, LeftRows::Gone));
    }
    for (const RowTarget& row : job.rows) {
      m_tags.push_back(static_cast<std::uint64_t>(row.id.value()));
      m_tokens.push_back(row.token.value());
    }
    if (job.wantMoments) m_moments.emplace(transformer, job.momentsFrom);
    preparePhases();
    prepareSlots();
    prepareAttention();
    place();
  }

  Result<RowsResult> run(const Progress& progress) {
    const auto total = static_cast<std::int64_t>(m_job.rows.size());
    const std::int64_t chunk = m_transformer.maxRows();
    for (std::int64_t begin = 0; begin < total; begin += chunk) {
      if (progress && !progress("computing rows", begin, total))
        return Error{"cancelled", "the operation was cancelled",
                     "after " + std::to_string(begin) + " of " + std::to_string(total) + " rows",
                     "nothing has changed; start it again"};
      const std::int64_t n = std::min(chunk, total - begin);
      if (Status done = runChunk(begin, n, begin + n == total); !done) return done.error();
    }
    m_staging.finish();
    if (Status done = backendStatus(m_transformer.backend(), "the forward pass"); !done) return done.error();
    takeScores();
    if (m_moments) m_result.moments = m_moments->take();
    if (m_assemblies.wrong() > 0)
      return Error{"guard", "the forward pass was refused",
                   std::to_string(m_assemblies.wrong()) + " rows of an assembled window are not the rows of the map",
                   "rebuild, or use layout ring_fused, which copies nothing"};
    for (int layer = 0; m_job.write && layer < m_store.layers(); ++layer)
      m_result.bytes += total * m_store.pool(layer).stride();
    return std::move(m_result);
  }

  /// Hidden states after layer 0 of rows [begin, begin+n), where ops read them.
  const float* firstLayer(std::int64_t begin, std::int64_t n) {
    m_transformer.embed(m_placedTokens + begin, n, m_x);
    const std::vector<Assembled> assembled = assembledFor(begin, n);
    std::vector<LayerPass> parts;
    for (int part = 0; part < m_perLayer; ++part) parts.push_back(layerPass(part, begin, n, false, assembled));
    m_transformer.layer(0, parts, n, m_x);
    return m_x;
  }

  /// Where the map of a layer has rows [begin, begin+n).
  std::vector<std::int32_t> slotsAt(int layer, std::int64_t begin, std::int64_t n) const {
    const std::int32_t g = m_job.groupOf[at(layer)];
    std::vector<std::int32_t> slots;
    for (std::int64_t i = begin; i < begin + n; ++i)
      slots.push_back(m_job.groups[at(g)].map->slotOf[at(m_groups[at(g)].rowEnd[at(i)] - 1)].value());
    return slots;
  }

 private:
  /// Query heads that go by the map of one cache layer.
  std::size_t headsOfPass() const { return at(m_transformer.model().config().heads / m_perLayer); }

  /// The rotary table has a row for every phase before a kernel reads it.
  void preparePhases() {
    for (const LayerGroup& group : m_job.groups)
      if (!group.map->phases.empty()) m_transformer.rotary().index(Phase(group.map->phases[group.map->size() - 1]));
    for (const GroupPass& pass : m_groups) m_transformer.rotary().index(Phase(pass.phase.back()));
    m_transformer.table();  // goes up before anything is recorded
  }

  /// Where each row's K/V goes in each cache layer; the lists of the layers one after another.
  void prepareSlots() {
    const int layers = static_cast<int>(m_job.groupOf.size());
    m_writeAt.assign(at(layers), kNone);
    m_selfAt.assign(at(layers), kNone);
    for (int layer = 0; layer < layers; ++layer) {
      const GroupPass& group = m_groups[at(m_job.groupOf[at(layer)])];
      const ResidencyView& map = *m_job.groups[at(m_job.groupOf[at(layer)])].map;
      if (!m_job.write && (group.allResident || !m_job.scratch)) continue;
      m_writeAt[at(layer)] = m_slots.size();
      for (std::size_t i = 0; i < m_job.rows.size(); ++i)
        m_slots.push_back(group.resident[i] ? map.slotOf[at(group.rowEnd[i] - 1)].value()
                                            : (*m_job.scratch)[at(layer)][i].value());
      if (group.allResident) continue;
      m_selfAt[at(layer)] = m_slots.size();
      for (std::size_t i = 0; i < m_job.rows.size(); ++i)
        m_slots.push_back(group.resident[i] ? -1 : (*m_job.scratch)[at(layer)][i].value());
    }
  }

  void prepareAttention() {
    const auto layers = m_job.groupOf.size();
    m_result.attention = std::make_shared<NewestAttention>();
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const LayerGroup& group = m_job.groups[at(m_job.groupOf[layer])];
      m_result.attention->maps.push_back(group.map);
      const bool wanted = m_job.attention == NewestLayers::All ||
          (m_job.attention == NewestLayers::Last && layer + at(m_perLayer) >= layers);
      m_result.attention->mass.emplace_back(wanted ? group.map->size() + 1 : 0);
      m_result.attention->perHead.emplace_back(m_job.wantPerHead ? (group.map->size() + 1) * headsOfPass() : 0);
      m_result.attention->received.emplace_back(m_job.wantReceived ? group.map->size() + 1 : 0);
      m_result.attention->receivedPerHead.emplace_back(
          m_job.wantReceivedPerHead ? (group.map->size() + 1) * headsOfPass() : 0);
    }
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
      m_result.provenance.emplace_back();
      for (std::size_t i = 0; i < m_job.rows.size(); ++i)
        m_result.provenance[g].push_back(provenanceOf(m_job.groups[g], m_groups[g], i));
    }
  }

  /// Brings everything that ops read to where they read it, once for all chunks and layers.
  void place() {
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
      const GroupPass& pass = m_groups[g];
      m_placed.push_back({m_store.mirrored(g, *m_job.groups[g].map), m_staging.in(pass.phase),
                          m_staging.in(pass.rowBegin), m_staging.in(pass.rowEnd)});
    }
    m_placedTags = m_staging.in(m_tags);
    m_placedTokens = m_staging.in(m_tokens);
    m_placedSlots = m_staging.in(m_slots);
    for (std::size_t layer = 0; layer < m_job.groupOf.size(); ++layer) {
      NewestAttention& seen = *m_result.attention;
      const std::int64_t rows = static_cast<std::int64_t>(seen.maps[layer]->size());
      m_masses.push_back({massOut(seen.mass[layer], rows), massOut(seen.perHead[layer], rows),
                          massOut(seen.received[layer], rows), massOut(seen.receivedPerHead[layer], rows)});
      if (float* sums = m_masses.back().received) clear(sums, roomFor(rows) + 1);
      if (float* sums = m_masses.back().receivedPerHead)
        clear(sums, (roomFor(rows) + 1) * static_cast<std::int64_t>(headsOfPass()));
    }
    const auto rows = std::min<std::size_t>(m_job.rows.size(), at(m_transformer.maxRows()));
    m_x = m_staging.temporary<float>(rows * at(m_transformer.hidden()));
    placeGates(rows);
    if (!m_job.wantLogits || m_job.embeddingOnly) return;
    m_result.logits.resize(at(m_transformer.model().config().vocab));
    m_logits = m_staging.out(m_result.logits.data(), m_result.logits.size());
  }

  /// Room for keys, [layers of the model, kScoredTogether, width] or [chunk, width], and for the scores of all layers
  /// and rows.
  void placeGates(std::size_t chunk) {
    if (!m_job.gates) return;
    const ModelConfig& c = m_transformer.model().config();
    const auto few = std::min<std::size_t>(chunk, at(kScoredTogether));
    m_gateKeys =
        m_staging.temporary<float>(std::max(chunk, few * at(c.layers)) * at(std::int64_t{c.kvHeads} * c.headDim));
    m_hostScores.resize(at(c.layers) * m_job.rows.size() * at(c.kvHeads));
    m_scores = m_staging.out(m_hostScores.data(), m_hostScores.size());
  }

  /// The call that scores rows [begin, begin + n) of one layer, or of all (-1).
  kernels::GateMlpArgs gateCall(int layer, std::int64_t begin, std::int64_t n) const {
    kernels::GateMlpArgs a = layer < 0 ? m_job.gates->args() : m_job.gates->args(layer);
    a.outLayerStride = static_cast<std::int64_t>(m_job.rows.size()) * a.kvHeads;
    a.out = m_scores + std::max(layer, 0) * a.outLayerStride + begin * a.kvHeads;
    a.x = m_gateKeys;
    a.n = n;
    return a;
  }

  /// Tells the passes of a chunk where keys for the gates go: [layers] calls that they make, or one for all layers
  /// that is made behind them.
  std::vector<kernels::GateMlpArgs> aimGates(std::vector<LayerPass>& passes, std::int64_t begin, std::int64_t n) const {
    std::vector<kernels::GateMlpArgs> calls;
    if (!m_job.gates) return calls;
    const bool together = n <= kScoredTogether;
    const int layers = m_transformer.model().config().layers;
    for (int layer = together ? -1 : 0; layer < (together ? 0 : layers); ++layer)
      calls.push_back(gateCall(layer, begin, n));
    const std::int64_t width = std::int64_t{calls[0].kvHeads} * calls[0].headDim();
    for (int layer = 0; layer < layers; ++layer) {
      LayerPass& pass = passes[at(layer * m_perLayer)];
      pass.gateKeys = m_gateKeys + (together ? layer * n * width : 0);
      pass.gatesRotated = m_job.gates->input() == GateInput::PostRope;
      pass.gates = together ? nullptr : &calls[at(layer)];
    }
    return calls;
  }

  void takeScores() {
    const std::size_t layers = m_job.gates ? at(m_transformer.model().config().layers) : 0,
                      each = layers ? m_hostScores.size() / layers : 0;
    for (std::size_t l = 0; l < layers; ++l)
      m_result.gateScores.emplace_back(m_hostScores.begin() + static_cast<std::ptrdiff_t>(l * each),
                                       m_hostScores.begin() + static_cast<std::ptrdiff_t>((l + 1) * each));
  }

  Provenance provenanceOf(const LayerGroup& group, const GroupPass& pass, std::size_t i) const {
    const std::size_t begin = at(pass.rowBegin[i]);
    const std::size_t own = at(pass.rowEnd[i] - (pass.resident[i] ? 1 : 0));
    Provenance p;
    p.ids = group.idSums[own] - group.idSums[begin];
    p.phased = group.phasedSums[own] - group.phasedSums[begin] + phasedWord(m_job.rows[i].id, pass.phase[i]);
    p.context = m_job.contextSums[at(m_job.rows[i].position)];
    if (m_job.embeddingOnly) p.context = ~p.context;  // it saw no context, so it belongs to none
    return p;
  }

  /// Rows that ops are told of: more than there are where calls are recorded, so that a map that grows
  /// makes the same calls for a while. What lies past a query's rowEnd is never looked at.
  std::int64_t roomFor(std::int64_t rows) const {
    if (m_transformer.backend().onHost()) return rows;
    const std::int64_t step =
        std::max<std::int64_t>(256, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)) / 4));
    return (rows + step) / step * step;
  }

  /// Room for masses [lists, roomFor(rows) + 1] that come back as host [lists, rows + 1]; null for none.
  float* massOut(std::vector<float>& host, std::int64_t rows) {
    if (host.empty()) return nullptr;
    const std::int64_t room = roomFor(rows);
    if (room == rows) return m_staging.out(host.data(), host.size());
    const std::size_t lists = host.size() / at(rows + 1);
    float* masses = m_staging.temporary<float>(lists * at(room + 1));
    for (std::size_t i = 0; i < lists; ++i) {
      float *to = host.data() + i * at(rows + 1), *from = masses + i * at(room + 1);
      m_staging.bring(to, from, at(rows));
      m_staging.bring(to + rows, from + room, 1);
    }
    return masses;
  }

  void clear(float* values, std::int64_t count) { m_transformer.backend().clear(values, count * 4); }

  /// [layers] what each reads instead of its pool; layers of a group share the lists.
  std::vector<Assembled> assembledFor(std::int64_t begin, std::int64_t n) {
    std::vector<Assembled> out;
    std::vector<int> leaders(m_job.groups.size(), -1);
    for (int layer = 0; layer < static_cast<int>(m_job.groupOf.size()); ++layer) {
      const std::size_t g = at(m_job.groupOf[at(layer)]);
      const kernels::RowFormat& format = m_store.pool(layer).format();
      if (leaders[g] >= 0 && m_store.pool(leaders[g]).format() == format) {
        out.push_back(out[at(leaders[g])]);
        continue;
      }
      leaders[g] = layer;
      const std::size_t self = m_selfAt[at(layer)];
      out.push_back(m_assemblies.make(
          m_job.groups[g], m_groups[g], begin, n, roomFor(static_cast<std::int64_t>(m_job.groups[g].map->size())),
          format, m_tags.data() + begin, self == kNone ? nullptr : m_slots.data() + self + at(begin), m_job.guards));
    }
    return out;
  }

  LayerPass layerPass(int layer, std::int64_t begin, std::int64_t n, bool newest,
                      const std::vector<Assembled>& assembled) {
    const std::int32_t g = m_job.groupOf[at(layer)];
    const PlacedGroup& group = m_placed[at(g)];
    const Masses& masses = m_masses[at(layer)];
    const auto listAt = [&](std::size_t from) { return from == kNone ? nullptr : m_placedSlots + from + begin; };
    LayerPass pass;
    pass.pool = m_store.pool(layer).data();
    pass.format = m_store.pool(layer).format();
    pass.stats = m_store.pool(layer).stats();
    pass.slots = group.map.slots;
    pass.phases = group.map.phases;
    pass.rows = roomFor(static_cast<std::int64_t>(m_job.groups[at(g)].map->size()));
    pass.rowsSeen = m_groups[at(g)].rowEnd[at(begin + n - 1)] - m_groups[at(g)].rowBegin[at(begin)];
    pass.phase = group.phase + begin;
    pass.rowBegin = group.rowBegin + begin;
    pass.rowEnd = group.rowEnd + begin;
    pass.tags = m_placedTags + begin;
    pass.write = listAt(m_writeAt[at(layer)]);
    pass.selfSlot = listAt(m_selfAt[at(layer)]);
    pass.assembled = assembled[at(layer)];
    if (pass.assembled.verdicts) pass.wrong = m_assemblies.counter();
    if (newest) pass.newestMass = masses.newest;
    if (newest) pass.newestPerHead = masses.perHead;
    pass.receivedMass = masses.received;
    pass.receivedPerHead = masses.receivedPerHead;
    return pass;
  }

  Status runChunk(std::int64_t begin, std::int64_t n, bool last) {
    const int layers = m_transformer.model().config().layers;
    std::vector<LayerPass> passes;
    const std::vector<Assembled> assembled = assembledFor(begin, n);
    for (int layer = 0; layer < layers * m_perLayer; ++layer) {
      if (Status passed = m_faults.pass(FaultPoint::Kernel, "a forward pass"); !passed) return passed;
      passes.push_back(layerPass(layer, begin, n, last && !m_job.embeddingOnly, assembled));
    }
    const std::vector<kernels::GateMlpArgs> gates = aimGates(passes, begin, n);
    const bool behind = gates.size() == 1 && !passes[0].gates;  // scored by one call for all layers
    std::function<void(int, const float*)> see;
    if (m_moments)
      see = [&](int layer, const float* x) {
        m_moments->add(layer, x, std::span(m_job.rows).subspan(at(begin), at(n)));
      };
    if (m_job.embeddingOnly) {
      m_transformer.embed(m_placedTokens + begin, n, m_x);
      for (int layer = 0; layer < layers; ++layer) {
        if (see) see(layer, m_x);
        m_transformer.project(layer, LayerParts(passes).subspan(at(layer * m_perLayer), at(m_perLayer)), n, m_x);
      }
      if (behind) m_transformer.ops().gateMlp(m_transformer.backend().context(), gates[0]);
      return ok();
    }
    const WholePass whole{m_placedTokens + begin,       n,  passes, m_perLayer, m_x, last ? m_logits : nullptr,
                          behind ? &gates[0] : nullptr, see};
    kernels::Backend& backend = m_transformer.backend();
    if (PassRunner* runner = m_transformer.runner()) runner->pass(m_transformer, whole);
    else if (n == 1 && backend.records() && !m_moments)
      backend.replay(keyOf(passes, begin, last), [&] { m_transformer.run(whole); });
    else m_transformer.run(whole);
    return ok();
  }

  /// Everything that the calls of a chunk depend on, as bytes.
  std::string keyOf(const std::vector<LayerPass>& passes, std::int64_t begin, bool last) const {
    std::string key;
    const auto add = [&key](const auto... fields) {
      (key.append(reinterpret_cast<const char*>(&fields), sizeof fields), ...);
    };
    const kernels::Arena::Mark mark = m_transformer.backend().arena().mark();
    add(m_placedTokens + begin, m_x, last ? m_logits : nullptr, m_transformer.table(), mark.chunk, mark.used);
    if (m_job.gates) {
      const kernels::GateMlpArgs a = gateCall(-1, begin, 1);
      add(m_job.gates, m_job.gates->input(), a.w[0].type, a.hidden(), a.out, a.outLayerStride, m_gateKeys);
      for (int stage = 0; stage < kernels::kGateStages; ++stage) add(a.w[stage].data, a.b[stage]);
    }
    for (const LayerPass& p : passes)
      add(p.pool, p.slots, p.phases, p.rows, p.phase, p.write, p.tags, p.rowBegin, p.rowEnd, p.selfSlot, p.newestMass,
          p.newestPerHead, p.receivedMass, p.receivedPerHead, p.wrong, p.assembled.records, p.assembled.slots,
          p.assembled.moves, p.assembled.nMoves, p.assembled.from, p.assembled.rows, p.assembled.self);
    return key;
  }

  static constexpr std::size_t kNone = ~std::size_t{0};

  Transformer& m_transformer;
  CacheStore& m_store;
  FaultDoor& m_faults;
  RowsJob& m_job;
  kernels::Staging m_staging;
  Assemblies m_assemblies;
  int m_perLayer;  // cache layers per layer of the model
  std::optional<MomentSums> m_moments;
  std::vector<GroupPass> m_groups;
  std::vector<std::uint64_t> m_tags;             // [rows]
  std::vector<std::int32_t> m_tokens;            // [rows]
  std::vector<std::int32_t> m_slots;             // lists of [rows] slots
  std::vector<std::size_t> m_writeAt, m_selfAt;  // [cache layers] where a layer's lists begin, or kNone
  std::vector<PlacedGroup> m_placed;             // [groups]
  std::vector<Masses> m_masses;                  // [cache layers]
  const std::uint64_t* m_placedTags = nullptr;
  const std::int32_t *m_placedTokens = nullptr, *m_placedSlots = nullptr;
  float *m_x = nullptr, *m_logits = nullptr;         // [chunk, hidden], [vocab] or null
  float *m_gateKeys = nullptr, *m_scores = nullptr;  // see placeGates; or null
  std::vector<float> m_hostScores;                   // [layers of the model, rows, kvHeads]
  RowsResult m_result;
};

}  // namespace

Result<RowsResult> computeRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob job,
                               const Progress& progress) {
  if (job.rows.empty()) return RowsResult{};
  return Pass(transformer, store, faults, job).run(progress);
}

Result<std::vector<double>> deviations(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob job) {
  job.write = false;
  job.attention = NewestLayers::None;
  job.wantLogits = false;
  std::vector<double> out(job.rows.size()), cosine(out.size());
  const ModelConfig& config = transformer.model().config();
  if (config.layers < 2) return out;  // a single layer has nothing that deviates
  constexpr int kLayer = 1;
  Pass pass(transformer, store, faults, job);
  kernels::Backend& backend = transformer.backend();
  kernels::Staging staging(backend);
  const RowPool& pool = store.pool(kLayer);
  const auto total = static_cast<std::int64_t>(job.rows.size());
  const std::size_t values = at(std::min<std::int64_t>(transformer.maxRows(), total) * pool.width());
  float *k = staging.temporary<float>(values), *v = staging.temporary<float>(values),
        *stored = staging.temporary<float>(values);
  double *apart = staging.out(out.data(), out.size()), *unused = staging.out(cosine.data(), cosine.size());
  const std::vector<std::int32_t> slots = pass.slotsAt(kLayer, 0, total);
  const std::int32_t* placed = staging.in(slots);
  for (std::int64_t begin = 0; begin < total; begin += transformer.maxRows()) {
    const std::int64_t n = std::min<std::int64_t>(transformer.maxRows(), total - begin);
    if (Status passed = faults.pass(FaultPoint::Kernel, "comparing rows"); !passed) return passed.error();
    transformer.projectTo(kLayer, n, pass.firstLayer(begin, n), k, v);
    backend.ops().gatherRows(backend.context(), {pool.data(), pool.format(), placed + begin, n, nullptr, stored});
    backend.ops().diffRows(backend.context(), {v, stored, n, pool.width(), apart + begin, unused + begin, nullptr});
  }
  staging.finish();
  if (Status done = backendStatus(backend, "comparing rows"); !done) return done.error();
  return out;
}

}  // namespace kvlab
