// SPDX-License-Identifier: Apache-2.0
#include "core/edit/compute_rows.h"

#include "core/edit/group_pass.h"
#include "core/state/provenance.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Pass {
 public:
  Pass(Transformer& transformer, CacheStore& store, FaultDoor& faults, RowsJob& job)
      : m_transformer(transformer), m_store(store), m_faults(faults), m_job(job) {
    extendSums(job.contextSums, job.context.size(), [&](std::size_t i) { return idWord(job.context[i]); });
    for (LayerGroup& group : job.groups) {
      extendSums(*group.map, group.idSums, group.phasedSums);
      m_groups.push_back(groupPass(job.context, group, job.rows, job.cachePhases));
    }
    for (const RowTarget& row : job.rows) m_tags.push_back(static_cast<std::uint64_t>(row.id.value()));
    preparePhases();
    prepareSlots();
    prepareAttention();
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
    if (m_job.write) m_result.bytes = total * m_transformer.model().config().layers * m_store.pool(0).stride();
    return std::move(m_result);
  }

  /// Hidden states after layer 0 of rows [begin, begin+n).
  void firstLayer(std::int64_t begin, std::int64_t n, std::vector<float>& x) {
    startChunk(begin, n, x);
    m_transformer.layer(0, layerPass(0, begin, false), n, x.data());
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
  /// The rotary table has a row for every phase before a kernel reads it.
  void preparePhases() {
    for (const LayerGroup& group : m_job.groups)
      if (!group.map->phases.empty()) m_transformer.rotary().index(Phase(group.map->phases[group.map->size() - 1]));
    for (const GroupPass& pass : m_groups) m_transformer.rotary().index(Phase(pass.phase.back()));
  }

  /// Where each row's K/V goes in each layer; empty = nowhere.
  void prepareSlots() {
    const int layers = static_cast<int>(m_job.groupOf.size());
    m_write.resize(at(layers));
    m_self.resize(at(layers));
    for (int layer = 0; layer < layers; ++layer) {
      const GroupPass& group = m_groups[at(m_job.groupOf[at(layer)])];
      const ResidencyView& map = *m_job.groups[at(m_job.groupOf[at(layer)])].map;
      if (!m_job.write && (group.allResident || !m_job.scratch)) continue;
      for (std::size_t i = 0; i < m_job.rows.size(); ++i) {
        const bool resident = group.resident[i];
        const std::int32_t slot = resident ? map.slotOf[at(group.rowEnd[i] - 1)].value()
                                           : (*m_job.scratch)[at(layer)][i].value();
        m_write[at(layer)].push_back(slot);
        if (!group.allResident) m_self[at(layer)].push_back(resident ? -1 : slot);
      }
    }
  }

  void prepareAttention() {
    const auto layers = m_job.groupOf.size();
    m_result.attention = std::make_shared<NewestAttention>();
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const LayerGroup& group = m_job.groups[at(m_job.groupOf[layer])];
      m_result.attention->maps.push_back(group.map);
      m_result.attention->mass.emplace_back(m_job.wantAttention ? group.map->size() + 1 : 0);
      m_result.attention->perHead.emplace_back(
          m_job.wantPerHead ? (group.map->size() + 1) * at(m_transformer.model().config().heads) : 0);
      m_result.attention->received.emplace_back(m_job.wantReceived ? group.map->size() + 1 : 0);
    }
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
      m_result.provenance.emplace_back();
      for (std::size_t i = 0; i < m_job.rows.size(); ++i)
        m_result.provenance[g].push_back(provenanceOf(m_job.groups[g], m_groups[g], i));
    }
  }

  Provenance provenanceOf(const LayerGroup& group, const GroupPass& pass, std::size_t i) const {
    const std::size_t begin = at(pass.rowBegin[i]);
    const std::size_t own = at(pass.rowEnd[i] - (pass.resident[i] ? 1 : 0));
    Provenance p;
    p.ids = group.idSums[own] - group.idSums[begin];
    p.phased = group.phasedSums[own] - group.phasedSums[begin] +
               phasedWord(m_job.rows[i].id, pass.phase[i]);
    p.context = m_job.contextSums[at(m_job.rows[i].position)];
    if (m_job.embeddingOnly) p.context = ~p.context;  // it saw no context, so it belongs to none
    return p;
  }

  LayerPass layerPass(int layer, std::int64_t begin, bool newest) {
    const std::int32_t g = m_job.groupOf[at(layer)];
    const GroupPass& group = m_groups[at(g)];
    const ResidencyView& map = *m_job.groups[at(g)].map;
    LayerPass pass;
    pass.pool = m_store.pool(layer).data();
    pass.format = m_store.pool(layer).format();
    // A Slot is an int32 and nothing else, so a column of slots is what the kernels take.
    static_assert(sizeof(Slot) == sizeof(std::int32_t));
    pass.slots = {reinterpret_cast<const std::int32_t*>(map.slotOf.data()), map.slotOf.size()};
    pass.phases = map.phases.span();
    pass.phase = group.phase.data() + begin;
    pass.rowBegin = group.rowBegin.data() + begin;
    pass.rowEnd = group.rowEnd.data() + begin;
    pass.tags = m_tags.data() + begin;
    if (!m_write[at(layer)].empty()) pass.write = m_write[at(layer)].data() + begin;
    if (!m_self[at(layer)].empty()) pass.selfSlot = m_self[at(layer)].data() + begin;
    if (newest && m_job.wantAttention) pass.newestMass = m_result.attention->mass[at(layer)].data();
    if (newest && m_job.wantPerHead) pass.newestPerHead = m_result.attention->perHead[at(layer)].data();
    if (m_job.wantReceived) pass.receivedMass = m_result.attention->received[at(layer)].data();
    return pass;
  }

  void startChunk(std::int64_t begin, std::int64_t n, std::vector<float>& x) {
    std::vector<TokenId> tokens;
    for (std::int64_t i = begin; i < begin + n; ++i) tokens.push_back(m_job.rows[at(i)].token);
    x.resize(at(n * m_transformer.hidden()));
    m_transformer.embed(tokens, x.data());
  }

  Status runChunk(std::int64_t begin, std::int64_t n, bool last) {
    startChunk(begin, n, m_x);
    const int layers = m_transformer.model().config().layers;
    for (int layer = 0; layer < layers; ++layer) {
      if (Status passed = m_faults.pass(FaultPoint::Kernel, "a forward pass"); !passed) return passed;
      if (m_job.embeddingOnly) m_transformer.project(layer, layerPass(layer, begin, false), n, m_x.data());
      else m_transformer.layer(layer, layerPass(layer, begin, last), n, m_x.data());
    }
    if (last && m_job.wantLogits && !m_job.embeddingOnly) {
      m_result.logits.resize(at(m_transformer.model().config().vocab));
      m_transformer.logits(m_x.data() + (n - 1) * m_transformer.hidden(), 1, m_result.logits.data());
    }
    return ok();
  }

  Transformer& m_transformer;
  CacheStore& m_store;
  FaultDoor& m_faults;
  RowsJob& m_job;
  std::vector<GroupPass> m_groups;
  std::vector<std::uint64_t> m_tags;               // [rows]
  std::vector<std::vector<std::int32_t>> m_write;  // [layers][rows] or empty
  std::vector<std::vector<std::int32_t>> m_self;   // [layers][rows] or empty
  std::vector<float> m_x;                          // [chunk, hidden]
  RowsResult m_result;
};

}  // namespace

Result<RowsResult> computeRows(Transformer& transformer, CacheStore& store, FaultDoor& faults,
                               RowsJob job, const Progress& progress) {
  if (job.rows.empty()) return RowsResult{};
  return Pass(transformer, store, faults, job).run(progress);
}

Result<std::vector<double>> deviations(Transformer& transformer, CacheStore& store, FaultDoor& faults,
                                       RowsJob job) {
  job.write = false;
  job.wantAttention = job.wantLogits = false;
  Pass pass(transformer, store, faults, job);
  const ModelConfig& config = transformer.model().config();
  const std::int64_t width = config.kvHeads * config.headDim;
  const int layer = std::min(1, config.layers - 1);
  std::vector<double> out(job.rows.size());
  std::vector<float> x, k, v, stored;
  const auto total = static_cast<std::int64_t>(job.rows.size());
  for (std::int64_t begin = 0; begin < total; begin += transformer.maxRows()) {
    const std::int64_t n = std::min<std::int64_t>(transformer.maxRows(), total - begin);
    if (layer == 0) return out;  // a single layer has nothing that deviates
    if (Status passed = faults.pass(FaultPoint::Kernel, "comparing rows"); !passed) return passed.error();
    pass.firstLayer(begin, n, x);
    k.resize(at(n * width));
    v.resize(k.size());
    stored.resize(k.size());
    transformer.projectTo(layer, n, x.data(), k.data(), v.data());
    const std::vector<std::int32_t> slots = pass.slotsAt(layer, begin, n);
    transformer.ops().gatherRows(transformer.context(), {store.pool(layer).data(), store.pool(layer).format(),
                                                         slots.data(), n, nullptr, stored.data()});
    std::vector<double> cosine(at(n));
    transformer.ops().diffRows(transformer.context(), {v.data(), stored.data(), n, width,
                                                       out.data() + begin, cosine.data(), nullptr});
  }
  return out;
}

}  // namespace kvlab
