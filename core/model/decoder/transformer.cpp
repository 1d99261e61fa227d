// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/transformer.h"

#include <algorithm>
#include <cmath>

#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/experts.h"
#include "core/model/decoder/row_codec.h"
#include "kernels/backend/staging.h"
#include "kernels/ops/op_bytes.h"

namespace kvlab {
namespace {

ModelConfig withPhases(ModelConfig config, std::int32_t phases) {
  config.maxPositions = phases;
  return config;
}

/// Op calls in its life belong to a layer.
class InLayer {
 public:
  InLayer(kernels::Backend& backend, Layer layer) : m_log(backend.log()) { set(layer.value()); }
  ~InLayer() { set(-1); }
  InLayer(const InLayer&) = delete;
  InLayer& operator=(const InLayer&) = delete;

 private:
  void set(int layer) const {
    if (m_log) m_log->setLayer(layer);
  }
  kernels::OpLog* m_log;
};

LayerParts partsOf(const WholePass& pass, Layer layer) {
  return pass.passes.subspan(at(layer.value() * pass.perLayer), at(pass.perLayer));
}

/// Floats in a row of all scratch together.
std::int64_t scratchWidth(const ModelConfig& c) {
  return c.hidden + 2ll * c.headDim * (c.heads + c.kvHeads) + 2ll * c.intermediate + Experts::scratchWidth(c);
}

/// Makes one call for the rows of several calls: in each layer the rows of a call lie behind those of the one before.
/// Passes are made together on host memory only, so an upload is a copy.
void scoreTogether(kernels::Backend& backend, std::span<const kernels::GateMlpArgs> own) {
  kernels::GateMlpArgs all = own[0];
  for (const kernels::GateMlpArgs& one : own.subspan(1)) all.n += one.n;
  all.xLayerStride = all.n * all.xStride;
  all.outLayerStride = all.n * all.outStride;
  kernels::Staging staging(backend);
  float* x = staging.temporary<float>(at(all.layers * all.xLayerStride));
  all.x = x;
  all.out = staging.temporary<float>(at(all.layers * all.outLayerStride));
  const auto eachStretch = [&](const auto& copy) {  // the rows of one in a layer; the first is `row` of all
    std::int64_t row = 0;
    for (const kernels::GateMlpArgs& one : own) {
      for (std::int64_t layer = 0; layer < all.layers; ++layer) copy(one, layer, row);
      row += one.n;
    }
  };
  eachStretch([&](const kernels::GateMlpArgs& one, std::int64_t layer, std::int64_t row) {
    backend.upload(x + layer * all.xLayerStride + row * all.xStride, one.x + layer * one.xLayerStride,
                   4 * one.n * all.xStride);
  });
  backend.ops().gateMlp(backend.context(), all);
  eachStretch([&](const kernels::GateMlpArgs& one, std::int64_t layer, std::int64_t row) {
    backend.upload(one.out + layer * one.outLayerStride, all.out + layer * all.outLayerStride + row * all.outStride,
                   4 * one.n * all.outStride);
  });
}

/// Computes the scores of gates behind the last layer. Parts with the same gates share a call, which reads every weight
/// once.
void scoreParts(kernels::Backend& backend, std::span<const PassPart> parts) {
  std::vector<kernels::GateMlpArgs> own;
  for (const PassPart& part : parts)
    if (part.pass->gates) own.push_back(kernels::withStrides(*part.pass->gates));
  const bool same = std::all_of(own.begin(), own.end(), [&](const kernels::GateMlpArgs& one) {
    return one.w[0].data == own[0].w[0].data && one.layers == own[0].layers;
  });
  if (own.size() > 1 && same) return scoreTogether(backend, own);
  for (const kernels::GateMlpArgs& one : own) backend.ops().gateMlp(backend.context(), one);
}

}  // namespace

Transformer::Transformer(std::shared_ptr<const PlacedWeights> weights, kernels::Backend& backend,
                         std::int32_t maxPhases, int maxRows, bool keysRotated)
    : m_weights(std::move(weights)),
      m_backend(backend),
      m_rotary(withPhases(model().config(), maxPhases)),
      m_maxRows(maxRows),
      m_keysRotated(keysRotated) {}

Result<std::unique_ptr<Transformer>> Transformer::create(std::shared_ptr<const PlacedWeights> weights,
                                                         kernels::Backend& backend, std::int32_t maxPhases, int maxRows,
                                                         bool keysRotated) {
  std::unique_ptr<Transformer> made(new Transformer(std::move(weights), backend, maxPhases, maxRows, keysRotated));
  const ModelConfig& c = made->model().config();
  const auto rows = [&](kernels::Array<float>& array, std::int64_t width) { array.allocate(backend, maxRows * width); };
  rows(made->m_norm, c.hidden);
  rows(made->m_q, c.heads * c.headDim);
  rows(made->m_attention, c.heads * c.headDim);
  rows(made->m_k, c.kvHeads * c.headDim);
  rows(made->m_v, c.kvHeads * c.headDim);
  rows(made->m_gate, c.intermediate);
  rows(made->m_up, c.intermediate);
  made->m_experts.allocate(backend, c, maxRows);
  const auto order = [&](kernels::Array<std::int32_t>& array, const std::vector<std::int32_t>& values) {
    if (!values.empty() && array.allocate(backend, static_cast<std::int64_t>(values.size()))) array.write(0, values);
  };
  order(made->m_fromFile, neighbourOrder(c));
  order(made->m_toEngine, engineOrder(c));
  made->m_table.update(backend, made->m_rotary);
  KV_TRY(backendStatus(backend, "setting the model up"));
  return made;
}

Result<std::unique_ptr<Transformer>> Transformer::widened(int maxRows) const {
  return create(m_weights, m_backend, 1, maxRows, m_keysRotated);
}

std::int64_t Transformer::bytes(const ModelConfig& c, std::int32_t maxPhases, int maxRows) {
  return 4 * (maxRows * scratchWidth(c) + std::int64_t{maxPhases} * c.headDim * Rotary::sets(c));
}

void Transformer::embed(const std::int32_t* ids, std::int64_t n, float* x) {
  const TensorView& table = m_weights->embed();
  const auto scale = static_cast<float>(model().config().embeddingScale);
  ops().embedding(context(), {table.data, table.dtype, ids, x, n, hidden(), scale});
}

void Transformer::embed(const WholePass& pass, float* x) {
  embed(pass.tokens, pass.n, x);
  if (pass.given) pass.given(x);
}

void Transformer::linear(const kernels::LinearArgs& args) {
  m_weightBytes += kernels::weightBytes(args);
  ops().linear(context(), args);
}

/// Begins a linear step on x [n, ...]; `norm` may be absent.
kernels::LinearArgs Transformer::step(const TensorView& norm, std::int64_t n, const float* x) {
  kernels::LinearArgs args;
  args.x = x;
  args.m = n;
  args.normWeight = norm.data;
  args.normType = norm.dtype;
  args.normOffset = static_cast<float>(model().config().normOffset);
  args.eps = static_cast<float>(model().config().rmsEps);
  args.normed = m_norm.data();
  return args;
}

void Transformer::norm(const TensorView& weight, std::int64_t rows, std::int64_t dim, const float* x, float* y) {
  kernels::RmsnormArgs args;
  args.x = x;
  args.y = y;
  args.weight = weight.data;
  args.weightType = weight.dtype;
  args.weightOffset = static_cast<float>(model().config().normOffset);
  args.rows = rows;
  args.dim = dim;
  args.eps = static_cast<float>(model().config().rmsEps);
  ops().rmsnorm(context(), args);
}

/// Normalises each head, or the whole row; the weight's length decides which.
void Transformer::headNorm(const TensorView& weight, std::int64_t n, int heads, const float* x, float* y) {
  if (!weight) return;
  const std::int64_t dim = weight.shape[0], all = n * heads * model().config().headDim;
  norm(weight, all / dim, dim, x, y);
}

void Transformer::reorder(const kernels::Array<std::int32_t>& order, float* x, std::int64_t n, int heads) {
  if (order.size() > 0) ops().reorder(context(), {x, order.data(), n, heads, model().config().headDim, 0});
}

void Transformer::products(Layer l, std::int64_t n, const float* x, float* k, float* v, float* q) {
  const LayerWeights& w = m_weights->layer(l);
  const ModelConfig& c = model().config();
  kernels::LinearArgs args = step(w.inputNorm, n, x);
  addPart(args, w.k, w.kBias, k);
  addPart(args, w.v, w.vBias, v);
  if (q) addPart(args, w.q, w.qBias, q);
  linear(args);
  reorder(m_fromFile, k, n, c.kvHeads);
  if (!q) return;
  reorder(m_fromFile, q, n, c.heads);
  headNorm(w.qNorm, n, c.heads, q, q);
  reorder(m_toEngine, q, n, c.heads);
}

void Transformer::projectTo(Layer l, std::int64_t n, const float* x, float* k, float* v, float* q) {
  const int heads = model().config().kvHeads;
  products(l, n, x, k, v, q);
  headNorm(m_weights->layer(l).kNorm, n, heads, k, k);
  reorder(m_toEngine, k, n, heads);
}

void Transformer::project(Layer l, LayerParts parts, std::int64_t n, const float* x) {
  products(l, n, x, parts[0].gateKeys ? parts[0].gateKeys : m_k.data(), m_v.data(), nullptr);
  makeRows(l, parts, n, m_k.data(), m_v.data());
}

/// K and V of a layer to their rows, and the keys that gates score. The products stand in gateKeys, or where there are
/// none in k, which is scratch otherwise.
void Transformer::makeRows(Layer l, LayerParts parts, std::int64_t n, float* k, const float* v) {
  const LayerPass& pass = parts[0];
  float* stored = storedKeys(l, pass, n, k);
  write(l, parts, n, stored, v);
  const bool turned = m_keysRotated && pass.write;
  if (pass.gateKeys && pass.gatesRotated && !turned) rotateParts(table(l), parts, stored, n, model().config().kvHeads);
  if (!pass.gates) return;
  kernels::GateMlpArgs gates = *pass.gates;
  gates.x = pass.gateKeys;
  gates.n = n;
  ops().gateMlp(context(), gates);
}

/// The keys to store, normed, not in gateKeys where they would be changed there.
float* Transformer::storedKeys(Layer l, const LayerPass& pass, std::int64_t n, float* spare) {
  const ModelConfig& c = model().config();
  const TensorView& norm = m_weights->layer(l).kNorm;
  float* fresh = pass.gateKeys ? pass.gateKeys : spare;
  const bool kept = pass.gateKeys && !pass.gatesRotated, ordered = m_toEngine.size() > 0;
  const bool changed = norm || ordered || (m_keysRotated && pass.write);
  if (kept && changed && !norm)
    ops().convert(context(), {fresh, kernels::DType::f32, spare, kernels::DType::f32, n * c.kvHeads * c.headDim});
  float* k = kept && changed ? spare : fresh;
  headNorm(norm, n, c.kvHeads, fresh, k);
  reorder(m_toEngine, k, n, c.kvHeads);
  return k;
}

void Transformer::write(Layer l, LayerParts parts, std::int64_t n, float* k, const float* v) {
  const ModelConfig& c = model().config();
  const std::int64_t row = std::int64_t{c.kvHeads} * c.headDim, own = row / static_cast<std::int64_t>(parts.size());
  for (const LayerPass& pass : parts) {
    if (pass.write) {
      if (m_keysRotated) rotate(table(l), k, pass.phase, n, pass.format.kvHeads, row);
      kernels::WriteRowsArgs args;
      args.pool = pass.pool;
      args.fmt = pass.format;
      args.k = k;
      args.v = v;
      args.tags = pass.tags;
      args.slots = pass.write;
      args.n = n;
      args.kStride = args.vStride = row;
      args.stats = pass.stats;
      CodedRows coded;  // lives as long as the call
      if (pass.format.codecs)
        encode(l, pass, static_cast<int>(&pass - parts.data()) * pass.format.kvHeads, row, args, coded);
      ops().writeRows(context(), args);
    }
    k += own;
    v += own;
  }
}

/// Rows as the codecs of the pass's pool give them back, in place of those of the arguments.
void Transformer::encode(Layer l, const LayerPass& pass, int first, std::int64_t stride, kernels::WriteRowsArgs& args,
                         CodedRows& coded) {
  if (m_failure) return;  // the rest of the pass counts for nothing
  const auto half = [&](bool keys, std::vector<float>& out, const float*& values, std::int64_t& own) {
    Result<std::vector<float>> made = kvlab::coded(pass.format, keys, l, first, args.n, values, stride);
    if (!made) {
      m_failure = made.error();
      return;
    }
    out = made.take();
    if (out.empty()) return;
    values = out.data();
    own = std::int64_t{pass.format.kvHeads} * pass.format.headDim;
  };
  half(true, coded.k, args.k, args.kStride);
  half(false, coded.v, args.v, args.vStride);
}

void Transformer::rotate(const float* table, float* x, const std::int32_t* phases, std::int64_t n, int heads,
                         std::int64_t stride) {
  ops().rope(context(), {x, phases, table, n, heads, model().config().headDim, stride});
}

/// x [n, heads*headDim], each part's heads by its phases.
void Transformer::rotateParts(const float* table, LayerParts parts, float* x, std::int64_t n, int heads) {
  const std::int64_t row = std::int64_t{heads} * model().config().headDim;
  const int own = heads / static_cast<int>(parts.size());
  for (const LayerPass& pass : parts) {
    rotate(table, x, pass.phase, n, own, row);
    x += std::int64_t{own} * model().config().headDim;
  }
}

void Transformer::rotateKeys(Layer layer, float* k, std::span<const std::int32_t> phases, int heads) {
  for (const std::int32_t phase : phases)
    if (phase < m_rotary.dense()) m_rotary.index(Phase(phase));
  kernels::Staging staging(m_backend);
  float* turned = staging.inOut(k, phases.size() * static_cast<std::size_t>(heads * model().config().headDim));
  rotate(table(layer), turned, staging.in(phases), static_cast<std::int64_t>(phases.size()), heads, 0);
  staging.finish();
}

void Transformer::attend(Layer l, LayerParts parts, std::int64_t n, float* q, float* out) {
  const ModelConfig& c = model().config();
  const int heads = c.heads / static_cast<int>(parts.size());
  rotateParts(queryTable(l), parts, q, n, c.heads);
  const auto* sinks = static_cast<const float*>(m_weights->layer(l).sinks.data);
  for (const LayerPass& pass : parts) {
    const std::int64_t stride = std::int64_t{c.heads} * c.headDim;
    if (m_bendHeads) m_bendHeads(pass, q, n, stride, heads, false);
    attendPart(l, pass, n, {heads, sinks}, q, out);
    if (m_bendHeads) m_bendHeads(pass, out, n, stride, heads, true);
    if (m_witness) m_witness(l, at(&pass - parts.data()), pass, n, out);
    if (sinks) sinks += heads;
    q += std::int64_t{heads} * c.headDim;
    out += std::int64_t{heads} * c.headDim;
  }
}

/// Rows of q and out hold all heads of the layer; here are those from q on.
void Transformer::attendPart(Layer l, const LayerPass& pass, std::int64_t n, Heads heads, float* q, float* out) {
  const ModelConfig& c = model().config();
  assemble(ops(), context(), pass.assembled, pass.pool, pass.format, pass.wrong);
  const bool copy = pass.assembled.records;

  kernels::AttentionArgs args;
  args.pool = copy ? pass.assembled.records : pass.pool;
  args.fmt = copy ? pass.assembled.format : pass.format;
  args.keysRotated = m_keysRotated;
  args.slots = copy ? pass.assembled.slots : pass.slots;
  args.phaseIndex = pass.phases;
  args.rows = pass.rows;
  args.rowsSeen = pass.rowsSeen;
  args.rotaryTable = table(l);
  args.queries = q;
  args.nQueries = n;
  args.queryHeads = heads.count;
  args.queryStride = args.outStride = std::int64_t{c.heads} * c.headDim;
  args.rowBegin = pass.rowBegin;
  args.rowEnd = pass.rowEnd;
  args.selfSlot = copy ? pass.assembled.self : pass.selfSlot;
  args.selfPhaseIndex = pass.selfSlot ? pass.phase : nullptr;
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.scoreDim()));
  args.cap = static_cast<float>(c.attentionCap);
  args.sinks = heads.sinks;
  args.out = out;
  args.mass = pass.mass;
  args.queryIndex = pass.queryIndex;
  args.aboveThreshold = pass.aboveThreshold;
  ops().attention(context(), args);
}

void Transformer::feedForward(Layer l, std::int64_t n, float* x) {
  const LayerWeights& w = m_weights->layer(l);
  if (!w.experts.empty()) {
    norm(w.postNorm, n, hidden(), x, m_experts.input());
    return m_experts.run(m_backend, w, n, x, [this](const kernels::LinearArgs& args) { linear(args); });
  }
  kernels::LinearArgs up = step(w.postNorm, n, x);
  addPart(up, w.dense.gate, w.dense.gateBias, m_gate.data());
  addPart(up, w.dense.up, w.dense.upBias, m_up.data());
  up.out = m_gate.data();
  up.function = gateFunction(model().config().activation);
  linear(up);
  addTo(x, {w.dense.down, w.dense.downBias, w.behindFeedForward}, n, m_gate.data());
}

/// x += w * from (+ bias), or the norm of that
void Transformer::addTo(float* x, const Matrix& matrix, std::int64_t n, const float* from) {
  kernels::LinearArgs args = step({}, n, from);
  addPart(args, matrix.weight, matrix.bias, m_norm.data());
  if (!matrix.normBehind) args.residual = x, args.out = x;
  linear(args);
  if (!matrix.normBehind) return;
  norm(matrix.normBehind, n, hidden(), m_norm.data(), m_norm.data());
  ops().add(context(), {x, m_norm.data(), x, n * hidden()});
}

void Transformer::behindAttention(Layer l, std::int64_t n, float* x) {
  const LayerWeights& w = m_weights->layer(l);
  addTo(x, {w.o, w.oBias, w.behindAttention}, n, m_attention.data());
  feedForward(l, n, x);
}

void Transformer::layer(Layer l, LayerParts parts, std::int64_t n, float* x) {
  const InLayer named(m_backend, l);
  products(l, n, x, parts[0].gateKeys ? parts[0].gateKeys : m_k.data(), m_v.data(), m_q.data());
  makeRows(l, parts, n, m_k.data(), m_v.data());
  attend(l, parts, n, m_q.data(), m_attention.data());
  behindAttention(l, n, x);
}

void Transformer::run(const WholePass& pass) {
  const ModelConfig& c = model().config();
  const auto layers = static_cast<std::int64_t>(pass.passes.size()) / pass.perLayer;
  const auto keepLastRow = [&](Layer l, const float* rows, float* kept, std::int64_t width) {
    if (!kept) return;
    constexpr auto f32 = kernels::DType::f32;
    ops().convert(context(), {rows + (pass.n - 1) * width, f32, kept + l.value() * width, f32, width});
  };
  embed(pass, pass.x);
  for (const Layer l : idRange<Layer>(0, layers)) {
    if (pass.see) pass.see(l, pass.x);
    if (pass.embeddingOnly) {
      project(l, partsOf(pass, l), pass.n, pass.x);
      continue;
    }
    keepLastRow(l, pass.x, pass.inputs, hidden());
    layer(l, partsOf(pass, l), pass.n, pass.x);
    keepLastRow(l, m_attention.data(), pass.attended, std::int64_t{c.heads} * c.headDim);
  }
  if (pass.gates) ops().gateMlp(context(), *pass.gates);
  if (pass.logits) logits(pass.x + (pass.n - 1) * hidden(), 1, pass.logits);
}

/// K and V of each part into its pool, its queries over its rows; the parts' rows lie one after another.
void Transformer::mixParts(Layer l, std::span<const PassPart> parts) {
  const ModelConfig& c = model().config();
  const std::int64_t queries = std::int64_t{c.heads} * c.headDim, keys = std::int64_t{c.kvHeads} * c.headDim;
  std::int64_t row = 0;
  for (const PassPart& part : parts) {
    const InLayer named(part.transformer->m_backend, l);
    const LayerParts passes = partsOf(*part.pass, l);
    float* k = m_k.data() + row * keys;
    if (float* scored = passes[0].gateKeys) m_backend.upload(scored, k, 4 * part.pass->n * keys);
    part.transformer->makeRows(l, passes, part.pass->n, k, m_v.data() + row * keys);
    part.transformer->attend(l, passes, part.pass->n, m_q.data() + row * queries, m_attention.data() + row * queries);
    row += part.pass->n;
  }
}

void Transformer::run(std::span<const PassPart> parts) {
  std::int64_t n = 0;
  for (const PassPart& part : parts) n += part.pass->n;
  kernels::Staging staging(m_backend);
  float* x = staging.temporary<float>(static_cast<std::size_t>(n * hidden()));
  const auto eachPart = [&](const auto& call) {
    float* rows = x;
    for (const PassPart& part : parts) {
      call(*part.pass, rows);
      rows += part.pass->n * hidden();
    }
  };
  eachPart([&](const WholePass& pass, float* rows) { embed(pass, rows); });
  for (const Layer l : idRange<Layer>(0, model().config().layers)) {
    eachPart([&](const WholePass& pass, const float* rows) {
      if (pass.see) pass.see(l, rows);
    });
    const InLayer named(m_backend, l);
    products(l, n, x, m_k.data(), m_v.data(), m_q.data());
    mixParts(l, parts);
    behindAttention(l, n, x);
  }
  scoreParts(m_backend, parts);
  eachPart([&](const WholePass& pass, const float* rows) {
    if (pass.keep) m_backend.upload(pass.x, rows, 4 * pass.n * hidden());
  });
  headParts(parts, x);
}

/// The head once, on the last row of each part that wants logits; x: the rows of all parts.
void Transformer::headParts(std::span<const PassPart> parts, const float* x) {
  const std::int64_t vocab = model().config().vocab;
  std::vector<const float*> rows;
  std::vector<float*> wanted;
  for (const PassPart& part : parts) {
    x += part.pass->n * hidden();
    if (!part.pass->logits) continue;
    rows.push_back(x - hidden());
    wanted.push_back(part.pass->logits);
  }
  if (rows.empty()) return;
  kernels::Staging staging(m_backend);
  float* last = staging.temporary<float>(rows.size() * static_cast<std::size_t>(hidden()));
  float* out = staging.temporary<float>(rows.size() * static_cast<std::size_t>(vocab));
  for (std::size_t i = 0; i < rows.size(); ++i)
    m_backend.upload(last + static_cast<std::int64_t>(i) * hidden(), rows[i], 4 * std::int64_t{hidden()});
  logits(last, static_cast<std::int64_t>(rows.size()), out);
  for (std::size_t i = 0; i < rows.size(); ++i)
    m_backend.upload(wanted[i], out + static_cast<std::int64_t>(i) * vocab, 4 * vocab);
}

void Transformer::logits(const float* x, std::int64_t n, float* out) {
  const ModelConfig& c = model().config();
  for (std::int64_t done = 0; done < n; done += m_maxRows) {
    kernels::LinearArgs args =
        step(m_weights->finalNorm(), std::min<std::int64_t>(m_maxRows, n - done), x + done * hidden());
    addPart(args, m_weights->head(), {}, out + done * c.vocab);
    linear(args);
  }
  if (c.logitCap != 0) ops().softcap(context(), {out, n * c.vocab, static_cast<float>(c.logitCap)});
}

}  // namespace kvlab
