// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/quantisation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/model/decoder/backend_status.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

constexpr float kNotResident = std::numeric_limits<float>::quiet_NaN();

void summarise(QuantError& error) {
  double sum = 0;
  int rows = 0;
  for (const float one : error.relative) {
    if (std::isnan(one)) continue;
    error.worst = std::max<double>(error.worst, one);
    sum += one;
    ++rows;
  }
  error.mean = rows ? sum / rows : 0;
}

/// Largest over the query heads of |q . d| / sqrt(d) for each of n key differences, [n, kvHeads, headDim].
std::vector<float> logitErrors(std::span<const float> q, std::span<const float> difference, const ModelConfig& config) {
  const int heads = config.heads, kvHeads = config.kvHeads, dim = config.headDim;
  const std::size_t width = at(kvHeads) * at(dim), n = difference.size() / width;
  std::vector<float> out(n);
  for (std::size_t row = 0; row < n; ++row)
    for (int head = 0; head < heads; ++head) {
      const float* d = difference.data() + row * width + at(head / (heads / kvHeads)) * at(dim);
      double dot = 0;
      for (int i = 0; i < dim; ++i) dot += double(q[at(head) * at(dim) + at(i)]) * d[i];
      out[row] = std::max(out[row], static_cast<float>(std::abs(dot) / std::sqrt(config.scoreDim())));
    }
  return out;
}

class Measurement {
 public:
  Measurement(const RebuildInput& input, const CacheStore& store) : m_in(input), m_store(store) {}

  Status add(const RebuiltLayer& layer) {
    const RowPool& pool = layer.rows;
    kernels::Backend& backend = m_store.backend();
    const kernels::OpTable& ops = backend.ops();
    const ModelConfig& config = m_in.transformer.model().config();
    const auto n = static_cast<std::int64_t>(layer.positions.size());
    const std::size_t values = at(n * pool.width());
    kernels::Staging staging(backend);
    std::vector<std::int32_t> records(at(n));
    for (std::size_t i = 0; i < records.size(); ++i) records[i] = static_cast<std::int32_t>(i);
    const std::int32_t* placed = staging.in(records);
    float *k = staging.temporary<float>(values), *v = staging.temporary<float>(values);
    ops.gatherRows(backend.context(), {pool.data(), pool.format(), placed, n, k, v});
    Side sides[2] = {Side(n, config.kvHeads), Side(n, config.kvHeads)};
    const std::pair<const float*, const float*> pairs[] = {{k, layer.k}, {v, layer.v}};
    for (int s = 0; s < 2; ++s)
      ops.diffRows(backend.context(),
                   {pairs[s].first, pairs[s].second, n, pool.width(), staging.out(sides[s].relative.data(), at(n)),
                    staging.out(sides[s].cosine.data(), at(n)), nullptr});
    ops.readScales(backend.context(),
                   {.pool = pool.data(),
                    .fmt = pool.format(),
                    .slots = placed,
                    .n = n,
                    .k = staging.out(sides[0].scales.data(), sides[0].scales.size()),
                    .v = staging.out(sides[1].scales.data(), sides[1].scales.size()),
                    .kAtMax = staging.out(sides[0].atMax.data(), at(n)),
                    .vAtMax = staging.out(sides[1].atMax.data(), at(n))});
    // Rotation is linear: the difference of two keys turns as the keys do.
    std::vector<float> stored(values), computed(values), query(at(std::int64_t{config.heads} * config.headDim));
    turned(ops, backend, k, layer, n);
    turned(ops, backend, layer.k, layer, n);
    staging.bring(stored.data(), k, values);
    staging.bring(computed.data(), layer.k, values);
    ops.rope(backend.context(),
             {layer.query, layer.phases + n - 1, m_in.transformer.queryTable(Layer(layer.layer.value())), 1,
              config.heads, config.headDim, 0});
    staging.bring(query.data(), layer.query, query.size());
    staging.finish();
    KV_TRY(backendStatus(backend, "measuring quantised rows"));
    for (std::size_t i = 0; i < values; ++i) stored[i] -= computed[i];
    const std::vector<float> logits = logitErrors(query, stored, config);
    m_out.push_back(layerOf(layer, sides, logits, config.kvHeads));
    if (m_in.types.given()) m_out.back().tried = pool.counts();
    return ok();
  }

  Quantisation take() { return std::move(m_out); }

 private:
  struct Side {
    Side(std::int64_t n, int heads) : relative(at(n)), cosine(at(n)), scales(at(n * heads)), atMax(at(n)) {}
    std::vector<double> relative, cosine;
    std::vector<float> scales;  // [n, kvHeads]
    std::vector<std::int32_t> atMax;
  };

  void turned(const kernels::OpTable& ops, kernels::Backend& backend, float* keys, const RebuiltLayer& layer,
              std::int64_t n) const {
    const ModelConfig& config = m_in.transformer.model().config();
    if (m_in.transformer.keysRotated()) return;
    ops.rope(
        backend.context(),
        {keys, layer.phases, m_in.transformer.table(Layer(layer.layer.value())), n, config.kvHeads, config.headDim, 0});
  }

  LayerQuantisation layerOf(const RebuiltLayer& layer, const Side (&sides)[2], const std::vector<float>& logits,
                            int kvHeads) const {
    const std::size_t length = m_in.state.context.size();
    LayerQuantisation out;
    out.logit.assign(length, kNotResident);
    for (int s = 0; s < 2; ++s) {
      QuantError& error = s == 0 ? out.k : out.v;
      error.relative.assign(length, kNotResident);
      error.cosine.assign(length, kNotResident);
      error.scale.assign(length, kNotResident);
      error.atMax.assign(length, 0);
    }
    const ResidencyView& map = m_in.state.map(layer.layer);
    std::size_t index = 0;
    for (std::size_t i = 0; i < layer.positions.size() && index < map.size(); ++i) {
      const std::size_t p = at(layer.positions[i]);
      if (map.ledger[index] != m_in.state.context[p] || !map.has(index++)) continue;
      for (int s = 0; s < 2; ++s) {
        QuantError& error = s == 0 ? out.k : out.v;
        error.relative[p] = static_cast<float>(sides[s].relative[i]);
        error.cosine[p] = static_cast<float>(sides[s].cosine[i]);
        const auto first = sides[s].scales.begin() + static_cast<std::ptrdiff_t>(i * at(kvHeads));
        error.scale[p] = *std::max_element(first, first + kvHeads);
        error.atMax[p] = sides[s].atMax[i];
      }
      out.logit[p] = logits[i];
      out.worstLogit = std::max<double>(out.worstLogit, logits[i]);
    }
    summarise(out.k);
    summarise(out.v);
    return out;
  }

  const RebuildInput& m_in;
  const CacheStore& m_store;
  Quantisation m_out;
};

}  // namespace

Result<Quantisation> measureQuantisation(const RebuildInput& input, const CacheStore& store, const Progress& progress) {
  Measurement measurement(input, store);
  const auto add = [&](const RebuiltLayer& layer) { return measurement.add(layer); };
  KV_TRY(rebuildPass(input, add, store, progress, true));
  return measurement.take();
}

}  // namespace kvlab
