// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/base/storage_plan.h"

#include <algorithm>

#include "core/kinds/base/cache_kind.h"

namespace kvlab {
namespace {

constexpr std::int64_t kMostSlots = std::int64_t{1} << 28;

std::optional<kernels::DType> dtypeOf(const std::string& name) {
  for (kernels::DType type :
       {kernels::DType::f32, kernels::DType::f16, kernels::DType::bf16, kernels::DType::i8, kernels::DType::fp8e4m3})
    if (name == kernels::dtypeName(type)) return type;
  return std::nullopt;
}

/// Row types: kv.k and kv.v of the layer, else dtype, else the type of the weights.
kernels::RowFormat rowFormat(const SessionParts& parts, int layer) {
  const Manifest& m = parts.manifest;
  const ModelConfig& config = parts.model->config();
  const kernels::DType base = dtypeOf(m.dtype).value_or(parts.model->dtype());
  return {config.kvHeads / parts.cacheLayers.perLayer, config.headDim, dtypeOf(m.kOf(layer)).value_or(base),
          dtypeOf(m.vOf(layer)).value_or(base)};
}

/// Rows per layer that fit into historyBytes.
std::int64_t historyRows(const Manifest& manifest, const std::vector<kernels::RowFormat>& formats) {
  std::int64_t bytes = 0;
  for (const kernels::RowFormat& format : formats) bytes += kernels::rowLayout(format).stride;
  return manifest.historyBytes / bytes;
}

/// Phases that a query of a layer of the model may attend to, 0 = all.
std::int32_t maskOf(const Manifest& manifest, const ModelConfig& config, int layer) {
  const std::int32_t own =
      config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[static_cast<std::size_t>(layer)];
  const std::int32_t wanted = manifest.windowOf(layer) >= 0 ? manifest.windowOf(layer) : own;
  const std::int32_t kept = manifest.ring.window;  // rows outside the ring are gone for every query
  return kept && wanted ? std::min(kept, wanted) : std::max(kept, wanted);
}

Status checkOverrides(const SessionParts& parts) {
  const int layers = parts.model->config().layers;
  for (const LayerOverride& one : parts.manifest.layers)
    if (one.to >= layers)
      return badKey("layers", one.to, "layer " + std::to_string(one.to) + " does not exist",
                    "the model has layers 0 to " + std::to_string(layers - 1));
  return ok();
}

/// The demand of every layer before its own budget or mask.
LayerDemand commonDemand(const SessionParts& parts, const std::vector<kernels::RowFormat>& formats) {
  const Manifest& m = parts.manifest;
  const KindSizes sizes = parts.kind->sizes(m, parts.model->config());
  const auto history =
      static_cast<std::int32_t>(std::min(kMostSlots - sizes.pool - sizes.room, historyRows(m, formats)));
  const std::int32_t block = m.ring.blockTokens > 1 ? sizes.room + m.ring.blockTokens : 1;  // beside an edit
  return {sizes.pool, m.ring.window, sizes.room, std::max(m.prefillChunk, block), history, m.ring.tailOnly};
}

/// Rows that a cache layer keeps of an adaptive budget, or holds until its policy decides again.
std::optional<std::int32_t> rowsDecided(const CacheState* content, std::size_t layer) {
  if (!content || !content->policy || !content->policy->layers[layer].budget) return std::nullopt;
  return std::max(content->policy->audit.layers[layer].bands.capacity(),
                  static_cast<std::int32_t>(content->map(static_cast<int>(layer)).size()));
}

}  // namespace

Error badKey(const char* key, const nlohmann::json& value, const std::string& why, const std::string& remedy) {
  return {"bad_manifest", "the manifest was refused", why, remedy, std::nullopt, key, value};
}

std::vector<std::int32_t> windowsOf(const SessionParts& parts) {
  std::vector<std::int32_t> out;
  for (int own = 0; own < parts.cacheLayers.count(); ++own)
    out.push_back(maskOf(parts.manifest, parts.model->config(), parts.cacheLayers.layerOf(Layer(own)).value()));
  return out;
}

Result<StoragePlan> planStorage(const SessionParts& parts, const CacheState* content) {
  if (Status there = checkOverrides(parts); !there) return there.error();
  const Manifest& m = parts.manifest;
  const ModelConfig& config = parts.model->config();
  StoragePlan plan;
  std::vector<std::string> specs;
  for (int own = 0; own < parts.cacheLayers.count(); ++own) {
    const int layer = parts.cacheLayers.layerOf(Layer(own)).value();
    plan.formats.push_back(rowFormat(parts, layer));
    if (!kernels::rowFormatSupported(plan.formats.back()))
      return badKey("model", m.model,
                    "rows of " + std::to_string(config.headDim) + " values per head are not supported",
                    "use a model whose head_dim is a multiple of 8 between 16 and 256");
    specs.push_back(m.layoutOf(layer));
  }
  std::vector<LayerDemand> demands(specs.size(), commonDemand(parts, plan.formats));
  for (std::size_t own = 0; own < specs.size(); ++own) {
    const Layer layer = parts.cacheLayers.layerOf(Layer(static_cast<std::int32_t>(own)));
    const std::int32_t capacity = demands[own].capacity;
    if (const std::optional<std::int32_t> rows = rowsDecided(content, own))
      demands[own].capacity = *rows + m.ring.blockTokens;
    Result<std::unique_ptr<StorageLayout>> layout = makeLayout(specs[own]);
    if (!layout) return layout.error();
    if (m.ring.window == 0 && (*layout)->dropsMasked())
      demands[own].keep = std::min(maskOf(m, config, layer.value()), capacity);
    demands[own].capacity =
        std::max(demands[own].capacity, demands[own].keep);  // a window needs its rows even if capacity is smaller
  }
  Result<LayoutSet> made = LayoutSet::make(specs, std::move(demands));
  if (!made) return made.error();
  plan.layouts = made.take();
  return plan;
}

Result<CacheStore> makeStore(const SessionParts& parts, const StoragePlan& plan) {
  std::vector<LayerPool> pools = plan.layouts.pools(plan.formats);
  const auto mebibytes = [](std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  const std::int64_t weights = parts.weights ? 0 : PlacedWeights::bytes(*parts.model, *parts.backend);
  std::int64_t rows = 0;
  for (const LayerPool& pool : pools) rows += kernels::rowLayout(pool.format).stride * pool.slots;
  const std::int64_t work = Transformer::bytes(parts.model->config(), parts.maxPhases, parts.manifest.prefillChunk);
  const std::int64_t there = parts.backend->available();
  if (weights + rows + work <= there) return CacheStore::create(*parts.backend, std::move(pools));
  return Error{"out_of_memory",
               "the session was not opened",
               "weights need " + mebibytes(weights) + ", rows " + mebibytes(rows) + ", the pass " + mebibytes(work) +
                   ", and " + mebibytes(there) + " are free on " + parts.backend->device(),
               "lower capacity, history_bytes or prefill_chunk, or use --backend cpu",
               std::nullopt,
               "capacity",
               parts.capacity};
}

Status freshStorage(SessionParts& parts) {
  Result<StoragePlan> plan = planStorage(parts);
  if (!plan) return plan.error();
  Result<CacheStore> store = makeStore(parts, *plan);
  if (!store) return store.error();
  parts.store = store.take();
  parts.layouts = std::move(plan->layouts);
  return ok();
}

}  // namespace kvlab
