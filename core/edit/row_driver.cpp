// SPDX-License-Identifier: Apache-2.0
#include "core/edit/row_driver.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/gate_weights.h"
#include "core/model/decoder/sampler.h"

namespace kvlab {
namespace {

/// For so few rows one call scores all layers, because one layer's gates alone are too little work.
constexpr std::int64_t kScoredTogether = 8;
constexpr std::int64_t kScoredRows = 64;  // rows whose logits stand in memory at a time

}  // namespace

/// Sets pool, format and the counters of writes.
void RowDriver::readFrom(LayerPass& pass, const RowPool& pool, kernels::WriteRowsStats* stats) {
  pass.pool = pool.data();
  pass.format = pool.format();
  pass.stats = stats;
}

void RowDriver::placeCounters(const CacheStore& store) {
  if (!std::ranges::any_of(store.layers(), [&](CacheLayer layer) { return store.pool(layer).stats(); })) return;
  m_counted.resize(store.layers().size());
  m_counters = m_staging.inOut(m_counted.data(), m_counted.size());
}

void RowDriver::settleCounts(CacheStore& store, std::span<const std::int64_t> rows) const {
  for (std::size_t layer = 0; layer < m_counted.size(); ++layer)
    store.pool(CacheLayer(static_cast<std::int32_t>(layer))).settleCounts(rows[layer], m_counted[layer]);
}

/// Arguments for the queries of all rows over a list of stored rows. `group` must outlive the pass.
LayerPass RowDriver::placed(const GroupPass& group, const std::int32_t* slots, const std::int32_t* phases,
                            std::size_t rows) {
  LayerPass pass;
  pass.slots = slots;
  pass.phases = phases;
  pass.rows = static_cast<std::int64_t>(rows);
  pass.phase = m_staging.in(group.phase);
  pass.rowBegin = m_staging.in(group.rowBegin);
  pass.rowEnd = m_staging.in(group.rowEnd);
  return pass;
}

LayerPass RowDriver::fromRow(LayerPass pass, std::int64_t begin) {
  for (const std::int32_t** list : {&pass.phase, &pass.rowBegin, &pass.rowEnd}) *list += begin;
  for (const std::int32_t** list : {&pass.write, &pass.selfSlot})
    if (*list) *list += begin;
  return pass;
}

RowsChunk RowDriver::chunk(std::int64_t begin, std::int64_t most) {
  const std::int64_t left = count() - begin;
  return {begin, std::min(most, left), most >= left};
}

std::int64_t RowDriver::roomFor(std::int64_t rows) const {
  if (!steady() || m_transformer.backend().onHost()) return rows;
  const std::int64_t step =
      std::max<std::int64_t>(256, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)) / 4));
  return (rows + step) / step * step;
}

Result<RowsBrought> RowDriver::byRows(const Progress& progress, const After& after) {
  const std::int64_t most = m_transformer.maxRows();
  place(std::min(most, count()));
  placeGates(std::min(most, count()));
  for (RowsChunk one; one.begin < count(); one.begin += one.n) {
    if (progress && !progress("computing rows", one.begin, count()))
      return Error("cancelled", "the operation was cancelled",
                   "after " + std::to_string(one.begin) + " of " + std::to_string(count()) + " rows",
                   "nothing has changed; start it again");
    one = chunk(one.begin, most);
    KV_TRY(runChunk(one));
    if (m_wanted.surprise) KV_TRY(score(one));
    if (after) after(one, m_x);
  }
  return finish("the forward pass");
}

Result<RowsBrought> RowDriver::byLayers(const Progress& progress) {
  Transformer& t = m_transformer;
  place(count());
  t.embed(m_tokens, count(), m_x);
  for (const Layer layer : m_layers.ofModel()) {
    if (progress && !progress("rebuilding layers", layer.value(), m_layers.layers))
      return Error("cancelled", "the rebuild was cancelled",
                   "layers 0 to " + std::to_string(layer.value() - 1) + " were done",
                   "run it again to rebuild the rest");
    KV_TRY(beginLayer(layer));
    for (RowsChunk one; one.begin < count(); one.begin += one.n) {
      KV_TRY(m_faults.pass(FaultPoint::Kernel, "a rebuild"));
      one = chunk(one.begin, t.maxRows());
      std::vector<LayerPass> parts;
      for (const CacheLayer own : m_layers.of(layer)) parts.push_back(passOf(own, one));
      float* x = m_x + one.begin * t.hidden();
      beginChunk(layer, one, parts[0], x);
      t.layer(layer, parts, one.n, x);
      KV_TRY(codedWell());
    }
    KV_TRY(endLayer(layer));
  }
  endLayers(m_x);
  if (m_logits) t.logits(m_x + (count() - 1) * t.hidden(), 1, m_logits);
  return finish("the rebuild");
}

/// Uploads tokens and tags of all rows, and makes room for hidden states and logits.
void RowDriver::place(std::int64_t rowsOfX) {
  for (const RowTarget& row : m_rows) {
    m_hostTags.push_back(static_cast<std::uint64_t>(row.id.value()));
    m_hostTokens.push_back(row.token.value());
  }
  m_tags = m_staging.in(m_hostTags);
  m_tokens = m_staging.in(m_hostTokens);
  m_x = m_staging.temporary<float>(at(rowsOfX * m_transformer.hidden()));
  if (m_wanted.logits) {
    m_out.logits.resize(at(m_transformer.model().config().vocab));
    m_logits = m_staging.out(m_out.logits.data(), m_out.logits.size());
  }
  const std::size_t layers = at(m_layers.count());
  m_placed.resize(layers);
  m_listed.resize(layers);
  if (!m_wanted.attention()) return;
  m_out.attention = std::make_shared<NewestAttention>();
  for (const AttentionList& list : kAttentionLists) ((*m_out.attention).*list.host).resize(layers);
}

/// Makes room for keys, [layers of the model, kScoredTogether, width] or [chunk, width], and for the scores of all
/// layers and rows.
void RowDriver::placeGates(std::int64_t chunk) {
  if (!m_wanted.gates) return;
  const ModelConfig& c = m_transformer.model().config();
  const std::int64_t few = std::min(chunk, kScoredTogether), width = std::int64_t{c.kvHeads} * c.headDim;
  m_gateKeys = m_staging.temporary<float>(at(std::max(chunk, few * c.layers) * width));
  const std::size_t each = at(count() * c.kvHeads);
  m_scores = m_staging.temporary<float>(at(c.layers) * each);
  for (int layer = 0; layer < c.layers; ++layer)
    m_staging.bring(m_out.gateScores.emplace_back(each).data(), m_scores + at(layer) * each, each);
}

LayerPass RowDriver::passOf(CacheLayer own, const RowsChunk& chunk) {
  LayerPass one = pass(own, chunk);
  one.tags = m_tags + chunk.begin;
  if (m_wanted.attention()) one.mass = attentionOf(own, chunk, one.rows);
  m_listed[at(own)] = one.rows;
  one.rows = roomFor(one.rows);
  return one;
}

/// The lists that a chunk fills in a cache layer. A list gets its room when it is first filled.
kernels::AttentionOut RowDriver::attentionOf(CacheLayer own, const RowsChunk& chunk, std::int64_t rows) {
  kernels::AttentionOut out;
  for (const AttentionList& list : kAttentionLists) {
    const InLayers in = m_wanted.*list.wanted;
    const bool wanted = in == InLayers::All || (in == InLayers::Last && m_layers.layerOf(own) == m_layers.last());
    if (!wanted || !(list.summed ? chunk.summed : chunk.newest)) continue;
    float*& placed = m_placed[at(own)].*list.out;
    const std::int64_t lists = list.perHead ? m_transformer.model().config().heads / m_layers.perLayer : 1;
    if (!placed) {
      placed = placeList(((*m_out.attention).*list.host)[at(own)], lists, rows);
      if (list.summed) m_transformer.backend().clear(placed, 4 * lists * (roomFor(rows) + 1));
    }
    out.*list.out = placed;
  }
  return out;
}

/// Room for [lists, roomFor(rows) + 1] values, which are copied back to host [lists, rows + 1].
float* RowDriver::placeList(std::vector<float>& host, std::int64_t lists, std::int64_t rows) {
  const std::int64_t room = roomFor(rows);
  host.resize(at(lists * (rows + 1)));
  if (room == rows) return m_staging.out(host.data(), host.size());
  float* values = m_staging.temporary<float>(at(lists * (room + 1)));
  for (std::int64_t i = 0; i < lists; ++i) {
    float *to = host.data() + i * (rows + 1), *from = values + i * (room + 1);
    m_staging.bring(to, from, at(rows));
    m_staging.bring(to + rows, from + room, 1);
  }
  return values;
}

/// The call that scores a chunk's rows in one layer, or in all.
kernels::GateMlpArgs RowDriver::gateCall(std::optional<Layer> layer, const RowsChunk& chunk) const {
  kernels::GateMlpArgs a = layer ? m_wanted.gates->args(*layer) : m_wanted.gates->args();
  a.outLayerStride = count() * a.kvHeads;
  a.out = m_scores + layer.value_or(Layer(0)).value() * a.outLayerStride + chunk.begin * a.kvHeads;
  a.x = m_gateKeys;
  a.n = chunk.n;
  return a;
}

/// Sets where the passes of a chunk write keys for the gates. Returns the gate calls: one per layer, [layers], or a
/// single one for all layers, made after the last layer.
std::vector<kernels::GateMlpArgs> RowDriver::aimGates(std::vector<LayerPass>& passes, const RowsChunk& chunk) const {
  std::vector<kernels::GateMlpArgs> calls;
  if (!m_wanted.gates) return calls;
  const bool together = chunk.n <= kScoredTogether;
  for (const Layer layer : idRange<Layer>(0, together ? 1 : m_layers.layers))
    calls.push_back(gateCall(together ? std::nullopt : std::optional(layer), chunk));
  const std::int64_t width = std::int64_t{calls[0].kvHeads} * calls[0].headDim();
  for (const Layer layer : m_layers.ofModel()) {
    LayerPass& pass = passes[at(m_layers.of(layer).front())];
    pass.gateKeys = m_gateKeys + (together ? layer.value() * chunk.n * width : 0);
    pass.gatesRotated = m_wanted.gates->input() == GateInput::PostRope;
    pass.gates = together ? nullptr : &calls[at(layer)];
  }
  return calls;
}

Status RowDriver::runChunk(const RowsChunk& chunk) {
  std::vector<LayerPass> passes;
  for (const CacheLayer own : m_layers.each()) {
    KV_TRY(m_faults.pass(FaultPoint::Kernel, "a forward pass"));
    passes.push_back(passOf(own, chunk));
  }
  const std::vector<kernels::GateMlpArgs> gates = aimGates(passes, chunk);
  const bool behind = gates.size() == 1 && !passes[0].gates;  // one call after the last layer scores all layers
  WholePass whole{m_tokens + chunk.begin, chunk.n, passes, m_layers.perLayer, m_x};
  if (chunk.newest) whole.logits = m_logits;
  if (behind) whole.gates = &gates[0];
  whole.keep = m_wanted.surprise;
  const bool seen = m_witness && m_witness->sees();
  if (m_moments || seen)
    whole.see = [this, chunk, seen](Layer layer, const float* x) {
      if (m_moments) m_moments->add(layer, x, std::span(m_rows).subspan(at(chunk.begin), at(chunk.n)));
      if (seen) m_witness->see(x, chunk.n);
    };
  complete(whole, chunk);
  if (m_witness) {
    if (chunk.newest) m_witness->keep(whole);
    for (const CacheLayer own : m_layers.each()) m_witness->told(whole, own, m_listed[at(own)]);
  }
  send(whole);
  return codedWell();
}

/// The error of a codec, if one has failed.
Status RowDriver::codedWell() {
  std::optional<Error> failure = m_transformer.takeFailure();
  return failure ? Status(std::move(*failure)) : ok();
}

/// Computes the surprise of the tokens that follow the rows of a chunk, from the logits of these rows.
Status RowDriver::score(const RowsChunk& chunk) {
  const std::int64_t vocab = m_transformer.model().config().vocab, hidden = m_transformer.hidden();
  m_out.surprise.resize(m_rows.size(), std::numeric_limits<float>::quiet_NaN());
  const std::int64_t end = std::min(chunk.begin + chunk.n, count() - 1);
  std::vector<float> logits(at(std::min(kScoredRows, chunk.n) * vocab));
  for (std::int64_t begin = chunk.begin; begin < end; begin += kScoredRows) {
    const std::int64_t n = std::min(kScoredRows, end - begin);
    kernels::Staging staging(m_transformer.backend());
    m_transformer.logits(m_x + (begin - chunk.begin) * hidden, n, staging.out(logits.data(), at(n * vocab)));
    staging.finish();
    KV_TRY(backendStatus(m_transformer.backend(), "scoring tokens"));
    for (std::int64_t i = 0; i < n; ++i)
      m_out.surprise[at(begin + i + 1)] = static_cast<float>(
          negativeLogLikelihood(std::span(logits).subspan(at(i * vocab), at(vocab)), m_rows[at(begin + i + 1)].token));
  }
  return ok();
}

void RowDriver::send(const WholePass& whole) {
  kernels::Backend& backend = m_transformer.backend();
  PassRunner* runner = steady() ? m_transformer.runner() : nullptr;
  if (runner) runner->pass(m_transformer, whole);
  else if (steady() && whole.n == 1 && backend.records() && !whole.see && m_transformer.replayable())
    backend.replay(keyOf(whole), [&] { m_transformer.run(whole); });
  else m_transformer.run(whole);
}

/// The key of a recorded pass: all values that its calls depend on, as bytes.
std::string RowDriver::keyOf(const WholePass& whole) {
  std::string key;
  const auto add = [&key](const auto... fields) {
    static_assert((std::has_unique_object_representations_v<decltype(fields)> && ...));
    (key.append(reinterpret_cast<const char*>(&fields), sizeof fields), ...);
  };
  const kernels::Arena::Mark mark = m_transformer.backend().arena().mark();
  add(whole.tokens, whole.x, whole.inputs, whole.attended, whole.logits, m_transformer.table(), mark.chunk, mark.used);
  if (const kernels::GateMlpArgs* a = whole.gates) {
    add(m_wanted.gates, m_wanted.gates->input(), a->w[0].type, a->hidden(), a->out, a->outLayerStride, m_gateKeys);
    for (int stage = 0; stage < kernels::kGateStages; ++stage) add(a->w[stage].data, a->b[stage]);
  }
  for (const LayerPass& p : whole.passes)
    add(p.pool, p.slots, p.phases, p.rows, p.phase, p.write, p.tags, p.stats, p.rowBegin, p.rowEnd, p.selfSlot, p.mass,
        p.wrong, p.assembled.records, p.assembled.slots, p.assembled.moves, p.assembled.nMoves, p.assembled.from,
        p.assembled.rows, p.assembled.to, p.assembled.tags, p.assembled.self, p.assembled.seen, p.assembled.nSeen);
  return key;
}

Result<RowsBrought> RowDriver::finish(const char* what) {
  m_staging.finish();
  KV_TRY(backendStatus(m_transformer.backend(), what));
  if (m_witness) m_witness->finish();
  if (m_moments) m_out.moments = m_moments->take();
  return std::move(m_out);
}

}  // namespace kvlab
