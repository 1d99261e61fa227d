// SPDX-License-Identifier: Apache-2.0
#include "core/edit/compute_rows.h"

#include <algorithm>
#include <deque>

#include "core/bugs/bug_kind.h"
#include "core/edit/assembly.h"
#include "core/model/decoder/frequencies.h"
#include "core/state/provenance.h"

namespace kvlab {
namespace {

/// Computes the rows of a job over the residency maps of the store's pools.
class StoredRows : public RowDriver {
 public:
  StoredRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob& job)
      : RowDriver(transformer, faults, job.wanted,
                  {job.layers ? job.layers : transformer.model().config().layers,
                   static_cast<int>(job.groupOf.size()) / transformer.model().config().layers}),
        m_store(store),
        m_job(job),
        m_bug(job.write ? faults.bug() : nullptr),
        m_assemblies(transformer.backend(), m_staging, store.ringReads()) {
    m_rows = job.rows;
    extendSums(job.contextSums, job.context.size(), [&](std::size_t i) { return idWord(job.context[i]); });
    std::int64_t reach = 0;
    for (LayerGroup& group : job.groups) {
      extendSums(*group.map, group.idSums, group.phasedSums);
      m_groups.push_back(groupPass(job.context, group, job.rows, job.cachePhases, LeftRows::Gone));
      // The rotary table must have a row for every phase before a kernel reads it.
      std::int32_t last = m_groups.back().phase.back();
      if (!group.map->phases.empty()) last = std::max(last, group.map->phases[group.map->size() - 1]);
      transformer.rotary().index(Phase(last));
      reach = std::max(reach, std::int64_t{last} + 1);
    }
    if (m_bug && m_bug->reach) reach = m_bug->reach(transformer.model().config(), reach);
    transformer.rotary().reach(reach);
    m_turn = turnWord(transformer.model().config(), reach);
    transformer.table();  // uploaded before calls are recorded
    place();
    if (m_bug && m_bug->heads && transformer.backend().onHost())
      transformer.setHeadsBend(
          [this](const LayerPass& pass, float* values, std::int64_t n, std::int64_t stride, int heads, bool back) {
            m_bug->heads({values, n, stride, heads, pass.format.kvHeads, pass.format.headDim, back});
          });
    if (job.write) witness(store, [this](PassDeed& deed) { deed.map = m_job.groups[groupOf(deed.layer)].map; });
  }
  ~StoredRows() override { m_transformer.setHeadsBend({}); }

  Result<RowsResult> run(const Progress& progress) {
    RowsBrought brought = KV_TRY(byRows(progress));
    if (m_job.write) settleCounts(m_store, std::vector<std::int64_t>(m_job.groupOf.size(), count()));
    if (m_assemblies.wrong() > 0)
      return Error("guard", "the forward pass was refused",
                   std::to_string(m_assemblies.wrong()) + " rows of an assembled window are not the rows of the map",
                   "rebuild, or use layout ring_fused, which copies nothing");
    if (m_bug && m_bug->written)
      for (const CacheLayer layer : m_job.cacheLayers())
        if (m_writeAt[at(layer)] != kNowhere)
          m_bug->written({m_store.pool(layer), std::span(m_slots).subspan(m_writeAt[at(layer)], m_rows.size()),
                          static_cast<std::int32_t>(m_job.context.size())});
    RowsResult out{std::move(brought), provenance()};
    out.reads = std::move(m_reads);
    for (const CacheLayer layer : m_job.cacheLayers()) {
      if (out.attention) out.attention->maps.push_back(m_job.groups[groupOf(layer)].map);
      if (m_job.write) out.bytes += count() * m_store.pool(layer).stride();
    }
    return out;
  }

  /// Relative L2 difference, in the layer after the job's, between the V of each row over the job's maps and the stored
  /// V.
  Result<std::vector<double>> deviations() {
    const Layer behind(m_layers.layers);
    const CacheLayer own = m_layers.of(behind).front();
    std::vector<double> out(m_rows.size()), cosine(out.size());
    std::vector<std::int32_t> slots;
    for (const std::int32_t end : m_groups[groupOf(own)].rowEnd)
      slots.push_back(mapOf(own).slotOf[at(end - 1)].value());
    kernels::Backend& backend = m_transformer.backend();
    const RowPool& pool = m_store.pool(own);
    const std::size_t values = at(std::min<std::int64_t>(m_transformer.maxRows(), count()) * pool.width());
    float *k = m_staging.temporary<float>(values), *v = m_staging.temporary<float>(values),
          *stored = m_staging.temporary<float>(values);
    double *apart = m_staging.out(out.data(), out.size()), *unused = m_staging.out(cosine.data(), cosine.size());
    const std::int32_t* placed = m_staging.in(slots);
    const auto compare = [&](const RowsChunk& chunk, const float* x) {
      const std::int64_t begin = chunk.begin, n = chunk.n;
      m_transformer.projectTo(behind, n, x, k, v);
      backend.ops().gatherRows(backend.context(), {pool.data(), pool.format(), placed + begin, n, nullptr, stored});
      backend.ops().diffRows(backend.context(), {v, stored, n, pool.width(), apart + begin, unused + begin, nullptr});
    };
    KV_TRY(byRows({}, compare));
    return out;
  }

 protected:
  bool steady() const override { return !m_job.embeddingOnly && !m_job.layers; }

  RowsChunk chunk(std::int64_t begin, std::int64_t most) override {
    if (m_job.scratch) most = std::min(most, static_cast<std::int64_t>(m_job.scratch->front().size()));
    for (const LayerGroup& group : m_job.groups)  // a chunk must not overwrite rows that its first query reads
      if (m_job.write && group.ring && group.keep)
        most = std::min<std::int64_t>(most, group.ring->capacity - (m_bug && m_bug->fullLaps ? 0 : group.keep));
    RowsChunk one = RowDriver::chunk(begin, most);
    one.newest = one.newest && !m_job.embeddingOnly;
    assemble(one);
    return one;
  }

  LayerPass pass(CacheLayer layer, const RowsChunk& chunk) override {
    const GroupPass& group = m_groups[groupOf(layer)];
    LayerPass one = fromRow(m_placed[at(layer)], chunk.begin);
    one.rowsSeen = group.rowEnd[at(chunk.begin + chunk.n - 1)] - group.rowBegin[at(chunk.begin)];
    one.assembled = m_assembled[at(layer)];
    if (one.assembled.records) {
      CopyCounts& copies = m_store.ringReads().counts(layer);
      ++(one.assembled.held ? copies.held : copies.listed);
    }
    if (one.assembled.verdicts) one.wrong = m_assemblies.counter();
    if (m_bug && m_bug->pass) bend(layer, chunk, one);
    return one;
  }

  void complete(WholePass& whole, const RowsChunk&) override { whole.embeddingOnly = m_job.embeddingOnly; }

 private:
  /// The planted bug changes the arguments of a layer.
  void bend(CacheLayer layer, const RowsChunk& chunk, LayerPass& one) {
    const GroupPass& group = m_groups[groupOf(layer)];
    const LayerGroup& rows = m_job.groups[groupOf(layer)];
    const auto part = [&](const std::vector<std::int32_t>& all, std::size_t from) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from) + chunk.begin;
      return std::vector<std::int32_t>(begin, begin + chunk.n);
    };
    PassBend& bent =
        m_bent.emplace_back(PassBend{part(group.phase, 0), part(group.rowBegin, 0), part(group.rowEnd, 0)});
    if (m_writeAt[at(layer)] != kNowhere) bent.written = part(m_slots, m_writeAt[at(layer)]);
    const std::span<const std::int32_t> slots = plain(rows.map->slotOf.span());
    bent.slots.assign(slots.begin(), slots.end());
    bent.phases.assign(rows.map->phases.begin(), rows.map->phases.end());
    bent.window = rows.window;
    bent.before = chunk.begin;
    bent.partly = rows.ring && rows.ring->filled < rows.ring->window;
    bent.poolSlots = m_store.pool(layer).slots();
    m_bug->pass(bent);
    if (one.assembled.records)  // a copy has the rows of the map alone
      for (std::int32_t& end : bent.end) end = std::min(end, static_cast<std::int32_t>(rows.map->size()));
    one.phase = m_staging.in(bent.phase);
    one.rowBegin = m_staging.in(bent.begin);
    one.rowEnd = m_staging.in(bent.end);
    if (one.write) one.write = m_staging.in(bent.written);
    one.slots = m_staging.in(bent.slots);
    one.phases = m_staging.in(bent.phases);
    one.rows = static_cast<std::int64_t>(bent.slots.size());
    one.rowsSeen = 0;
  }

  std::size_t groupOf(CacheLayer layer) const { return at(m_job.groupOf[at(layer)]); }
  const ResidencyView& mapOf(CacheLayer layer) const { return *m_job.groups[groupOf(layer)].map; }

  Slot scratch(CacheLayer layer, std::size_t row) const {
    const std::vector<Slot>& slots = (*m_job.scratch)[at(layer)];
    return slots[row % slots.size()];
  }

  /// Fills m_slots with the slots that rows are written to in each cache layer.
  void listSlots() {
    const std::size_t layers = m_job.groupOf.size();
    m_writeAt.assign(layers, kNowhere);
    m_selfAt.assign(layers, kNowhere);
    for (const CacheLayer layer : m_job.cacheLayers()) {
      const GroupPass& group = m_groups[groupOf(layer)];
      if (!m_job.write && (group.allResident || !m_job.scratch)) continue;
      const Column<Slot>& slots = mapOf(layer).slotOf;
      m_writeAt[at(layer)] = m_slots.size();
      for (std::size_t i = 0; i < m_rows.size(); ++i)
        m_slots.push_back(
            (group.resident[i] && m_job.write ? slots[at(group.rowEnd[i] - 1)] : scratch(layer, i)).value());
      if (group.allResident) continue;
      m_selfAt[at(layer)] = m_slots.size();
      for (std::size_t i = 0; i < m_rows.size(); ++i)
        m_slots.push_back(group.resident[i] ? -1 : scratch(layer, i).value());
    }
  }

  /// Uploads all lists that ops read, once for all chunks and layers.
  void place() {
    listSlots();
    if (m_job.write) placeCounters(m_store);
    std::vector<LayerPass> groups;
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
      const ResidencyView& map = *m_job.groups[g].map;
      const MapMirror::View view = m_store.mirrored(g, map);
      groups.push_back(placed(m_groups[g], view.slots, view.phases, map.size()));
    }
    const std::int32_t* slots = m_staging.in(m_slots);
    for (const CacheLayer layer : m_job.cacheLayers()) {
      LayerPass& pass = m_placed.emplace_back(groups[groupOf(layer)]);
      readFrom(pass, m_store.pool(layer), countersOf(layer, m_store.pool(layer)));
      if (m_writeAt[at(layer)] != kNowhere) pass.write = slots + m_writeAt[at(layer)];
      if (m_selfAt[at(layer)] != kNowhere) pass.selfSlot = slots + m_selfAt[at(layer)];
    }
  }

  /// Plans the copies that layers read instead of their pools; layers of a group share the lists.
  void assemble(const RowsChunk& chunk) {
    m_assembled.clear();
    m_reads.clear();
    std::vector<std::optional<CacheLayer>> leaders(m_job.groups.size());
    std::vector<std::size_t> readOf(m_job.groups.size());  // place of the group's newest read
    for (const CacheLayer layer : m_job.cacheLayers()) {
      const std::size_t g = groupOf(layer), self = m_selfAt[at(layer)];
      const kernels::RowFormat& format = m_store.pool(layer).format();
      if (leaders[g] && m_store.pool(*leaders[g]).format() == format) {
        m_assembled.push_back(m_assembled[at(*leaders[g])]);
        if (m_assembled.back().records) ++m_reads[readOf[g]].layers;
        continue;
      }
      leaders[g] = layer;
      m_assembled.push_back(
          m_assemblies.make(g, m_job.groups[g], m_groups[g], format,
                            {.begin = chunk.begin,
                             .n = chunk.n,
                             .rows = roomFor(m_placed[at(layer)].rows),
                             .targets = m_job.rows.data() + chunk.begin,
                             .self = self == kNowhere ? nullptr : m_slots.data() + self + at(chunk.begin),
                             .guarded = m_job.guards,
                             .bent = m_bug && m_bug->pass}));
      if (!m_assembled.back().records) continue;
      readOf[g] = m_reads.size();
      m_reads.push_back({.layer = layer, .pointer = m_job.groups[g].ring->pointer(), .runs = m_assemblies.runs()});
    }
  }

  /// [groups][rows]
  std::vector<std::vector<Provenance>> provenance() const {
    std::vector<std::vector<Provenance>> out(m_groups.size());
    for (std::size_t g = 0; g < m_groups.size(); ++g)
      for (std::size_t i = 0; i < m_job.rows.size(); ++i)
        out[g].push_back(provenanceOf(m_job.groups[g], m_groups[g], i));
    return out;
  }

  Provenance provenanceOf(const LayerGroup& group, const GroupPass& pass, std::size_t i) const {
    const std::size_t begin = at(pass.rowBegin[i]);
    const std::size_t own = at(pass.rowEnd[i] - (pass.resident[i] ? 1 : 0));
    Provenance p;
    p.ids = group.idSums[own] - group.idSums[begin];
    p.phased = group.phasedSums[own] - group.phasedSums[begin] + phasedWord(m_job.rows[i].id, pass.phase[i]) +
        borderWord(pass.rowBegin[i]) + m_turn;
    p.context = m_job.contextSums[at(m_job.rows[i].position)];
    if (m_job.embeddingOnly) p.context = ~p.context;  // the row attended to no context, so no context may match
    return p;
  }

  static constexpr std::size_t kNowhere = ~std::size_t{0};

  CacheStore& m_store;
  RowsJob& m_job;
  const BugKind* m_bug;  // null = none is planted
  std::deque<PassBend> m_bent;
  Assemblies m_assemblies;
  std::vector<GroupPass> m_groups;
  std::uint64_t m_turn = 0;            // turnWord() of the frequencies in use
  std::vector<std::int32_t> m_slots;   // lists of [rows] slots, one after another
  std::vector<std::size_t> m_writeAt;  // [cache layers] start of the list of slots to write to, or kNowhere
  std::vector<std::size_t> m_selfAt;   // [cache layers] start of the slot list of rows that the map lacks, or kNowhere
  std::vector<LayerPass> m_placed;     // [cache layers] arguments for all rows
  std::vector<Assembled> m_assembled;  // [cache layers] copies for the current chunk
  std::vector<RingRead> m_reads;       // the same, for events
};

}  // namespace

Result<RowsResult> computeRows(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob job,
                               const Progress& progress) {
  if (job.rows.empty()) return RowsResult{};
  return StoredRows(transformer, store, faults, job).run(progress);
}

Result<std::vector<double>> deviations(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob job) {
  if (transformer.model().config().layers < 2) return std::vector<double>(job.rows.size());  // needs two layers
  job.write = false;
  job.layers = 1;
  return StoredRows(transformer, store, faults, job).deviations();
}

}  // namespace kvlab
