// SPDX-License-Identifier: Apache-2.0
#include "core/explain/token_rows.h"

#include <algorithm>
#include <numeric>

#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/frequencies.h"
#include "core/model/decoder/transformer.h"
#include "core/state/row_pool.h"

namespace kvlab {
namespace {

constexpr std::int64_t kChunk = 256;  // rows that are computed together

/// Heads in the order of files, or in that of the engine.
void reorderHeads(std::span<float> keys, const std::vector<std::int32_t>& order, bool toEngine) {
  std::vector<float> own(order.size());
  for (std::size_t head = 0; !order.empty() && head + order.size() <= keys.size(); head += order.size()) {
    std::copy_n(keys.begin() + static_cast<std::ptrdiff_t>(head), order.size(), own.begin());
    for (std::size_t i = 0; i < order.size(); ++i)
      if (toEngine) keys[head + i] = own[at(order[i])];
      else keys[head + at(order[i])] = own[i];
  }
}

int windowOf(const ModelConfig& config, Layer layer) {
  return config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[at(layer)];
}

/// A stage as ops take it.
struct StageMap {
  std::vector<std::int32_t> slots, phases;  // [rows]; phases are rows of the rotary table
  std::vector<std::int32_t> place;          // [own tokens] in the list of rows
};

class Pass {
 public:
  explicit Pass(const TokenPass& pass) : m_pass(pass), m_config(pass.weights->model().config()) {}

  Result<TokenRows> run() {
    KV_TRY(prepare());
    std::vector<float> x(m_pass.ids.size() * at(m_config.hidden));
    std::vector<std::int32_t> ids;
    for (const TokenId id : m_pass.ids) ids.push_back(id.value());
    for (std::int64_t begin = 0; begin < count(); begin += kChunk)
      m_transformer->embed(ids.data() + begin, std::min(kChunk, count() - begin), x.data() + begin * m_config.hidden);
    for (int l = 0; l < m_layers; ++l) KV_TRY(layer(Layer(l), x));
    KV_TRY(backendStatus(m_transformer->backend(), "computing the rows of a text"));
    return std::move(m_out);
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(m_pass.ids.size()); }
  std::size_t width() const { return at(m_config.kvHeads) * at(m_config.headDim); }

  Status prepare() {
    if (!m_pass.backend->onHost())
      return Error("unsupported", "the rows of the text were not computed", "they are computed on the CPU alone",
                   "open the model with backend \"cpu\"", "backend");
    m_stages = m_pass.stages;
    if (m_stages.empty()) {
      RowStage all{0, count(), std::vector<std::int32_t>(m_pass.ids.size()), {}};
      std::iota(all.rows.begin(), all.rows.end(), 0);
      all.phases = all.rows;
      m_stages.push_back(std::move(all));
    }
    std::int32_t last = 0;
    for (const RowStage& stage : m_stages)
      for (const std::int32_t phase : stage.phases) last = std::max(last, phase);
    m_layers = m_pass.layers > 0 ? std::min(m_pass.layers, m_config.layers) : m_config.layers;
    m_transformer = KV_TRY(
        Transformer::create(m_pass.weights, *m_pass.backend, last + 1, static_cast<int>(std::min(kChunk, count()))));
    m_transformer->rotary().reach(last + 1);
    m_transformer->rotary().index(Phase(last));
    m_pool = KV_TRY(RowPool::create(*m_pass.backend,
                                    {m_config.kvHeads, m_config.headDim, kernels::DType::f32, kernels::DType::f32},
                                    static_cast<std::int32_t>(std::max<std::int64_t>(count(), 1))));
    m_order = engineOrder(m_config);
    m_out.phases.assign(m_pass.ids.size(), 0);
    m_out.keys.resize(at(m_layers)), m_out.values.resize(at(m_layers));
    for (const RowStage& stage : m_stages) mapOf(stage);
    return ok();
  }

  void mapOf(const RowStage& stage) {
    StageMap map;
    map.place.assign(at(stage.end - stage.begin), 0);
    for (std::size_t i = 0; i < stage.rows.size(); ++i) {
      map.slots.push_back(stage.rows[i]);
      map.phases.push_back(m_transformer->rotary().index(Phase(stage.phases[i])));
      const std::int64_t own = stage.rows[i] - stage.begin;
      if (own >= 0 && stage.rows[i] < stage.end) map.place[at(own)] = static_cast<std::int32_t>(i);
      m_out.phases[at(stage.rows[i])] = stage.phases[i];
    }
    m_maps.push_back(std::move(map));
  }

  Status layer(Layer layer, std::vector<float>& x) {
    m_out.keys[at(layer)].resize(m_pass.ids.size() * width());
    m_out.values[at(layer)].resize(m_pass.ids.size() * width());
    for (std::size_t s = 0; s < m_stages.size(); ++s)
      for (std::int64_t begin = m_stages[s].begin; begin < m_stages[s].end; begin += kChunk) {
        if (!report(m_pass.progress, "rows of the text", layer.value() * count() + begin, m_layers * count()))
          return Error("cancelled", "the rows of the text were not computed", "somebody stopped it", "start again");
        chunk(layer, s, begin, std::min(kChunk, m_stages[s].end - begin), x.data() + begin * m_config.hidden);
      }
    return ok();
  }

  void chunk(Layer layer, std::size_t s, std::int64_t begin, std::int64_t n, float* x) {
    const std::size_t from = at(begin) * width(), values = at(n) * width();
    const std::span<float> k(m_out.keys[at(layer)].data() + from, values);
    const std::span<float> v(m_out.values[at(layer)].data() + from, values);
    m_transformer->projectTo(layer, n, x, k.data(), v.data());
    reorderHeads(k, m_order, false);
    if (m_pass.stored) m_pass.stored(layer, begin, k, v);
    if (layer.value() + 1 == m_layers) return;  // no later layer needs its attention
    std::vector<float> own(k.begin(), k.end());
    reorderHeads(own, m_order, true);
    std::vector<std::int32_t> slots(at(n));
    std::iota(slots.begin(), slots.end(), static_cast<std::int32_t>(begin));
    const std::vector<std::uint64_t> tags(slots.begin(), slots.end());
    m_pool.write(slots, own.data(), v.data(), tags.data());
    attend(layer, s, begin, n, x);
    if (m_pass.between) m_pass.between(layer, begin, {x, at(n) * at(m_config.hidden)});
  }

  void attend(Layer layer, std::size_t s, std::int64_t begin, std::int64_t n, float* x) {
    const StageMap& map = m_maps[s];
    const RowStage& stage = m_stages[s];
    const int window = m_pass.windows.empty() ? windowOf(m_config, layer) : m_pass.windows[at(layer)];
    std::vector<std::int32_t> phase, rowBegin, rowEnd;
    for (std::int64_t i = begin; i < begin + n; ++i) {
      const std::int32_t place = map.place[at(i - stage.begin)];
      phase.push_back(map.phases[at(place)]);
      rowEnd.push_back(place + 1);
      rowBegin.push_back(window > 0 ? std::max(0, place + 1 - window) : 0);
    }
    LayerPass pass;
    pass.pool = m_pool.data();
    pass.format = m_pool.format();
    pass.slots = map.slots.data();
    pass.phases = map.phases.data();
    pass.rows = static_cast<std::int64_t>(map.slots.size());
    pass.phase = phase.data();
    pass.rowBegin = rowBegin.data();
    pass.rowEnd = rowEnd.data();
    m_transformer->layer(layer, {&pass, 1}, n, x);
  }

  const TokenPass& m_pass;
  const ModelConfig& m_config;
  int m_layers = 0;
  std::unique_ptr<Transformer> m_transformer;
  RowPool m_pool;
  std::vector<RowStage> m_stages;
  std::vector<StageMap> m_maps;
  std::vector<std::int32_t> m_order;
  TokenRows m_out;
};

}  // namespace

std::int64_t tokenRowsBytes(const ModelConfig& config, std::int64_t tokens) {
  return 2 * std::int64_t{config.layers} * tokens * config.kvHeads * config.headDim *
      static_cast<std::int64_t>(sizeof(float));
}

Result<TokenRows> tokenRows(const TokenPass& pass) {
  if (pass.ids.empty()) return TokenRows{};
  return Pass(pass).run();
}

}  // namespace kvlab
