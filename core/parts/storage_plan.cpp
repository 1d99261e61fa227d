// SPDX-License-Identifier: Apache-2.0
#include "core/parts/storage_plan.h"

#include <algorithm>

#include "core/model/decoder/frequencies.h"
#include "core/model/decoder/row_codec.h"
#include "core/parts/cache_kind.h"

namespace kvlab {
namespace {

constexpr std::int64_t kMostSlots = std::int64_t{1} << 28;

/// Row types: kv.k and kv.v of the layer, else dtype, else the type of the weights. Rows of a codec are stored as f32.
Result<kernels::RowFormat> rowFormat(const SessionParts& parts, Layer layer) {
  const Manifest& m = parts.manifest;
  const ModelConfig& config = parts.model->config();
  const kernels::DType base = rowTypeNamed(m.dtype).value_or(parts.model->dtype());
  kernels::RowFormat out{config.kvHeads / parts.cacheLayers.perLayer, config.headDim,
                         rowTypeNamed(m.kOf(layer)).value_or(base), rowTypeNamed(m.vOf(layer)).value_or(base),
                         KV_TRY(codecsOf(m.kOf(layer), m.vOf(layer)))};
  if (!codecOf(out.codecs, true).empty()) out.k = kernels::DType::f32;
  if (!codecOf(out.codecs, false).empty()) out.v = kernels::DType::f32;
  return out;
}

/// Rows per layer that fit into historyBytes.
std::int64_t historyRows(const Manifest& manifest, const std::vector<kernels::RowFormat>& formats) {
  std::int64_t bytes = 0;
  for (const kernels::RowFormat& format : formats) bytes += kernels::rowLayout(format).stride;
  return manifest.historyBytes / bytes;
}

/// Limits of a layer of the model; 0 = no limit.
struct LayerWindow {
  std::int32_t mask = 0;  // phases that attention lets through
  std::int32_t keep = 0;  // rows that stay: rings alone let rows go
};

LayerWindow windowOf(const SessionParts& parts, Layer layer) {
  const Manifest& m = parts.manifest;
  const ModelConfig& config = parts.model->config();
  const std::int32_t own = config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[at(layer)];
  const std::int32_t mask = m.windowOf(layer) >= 0 ? m.windowOf(layer) : own, kept = m.ring.window;
  const Result<std::unique_ptr<StorageLayout>> layout = makeLayout(m.layoutOf(layer));
  if (!layout || !(*layout)->dropsMasked()) return {mask, 0};
  if (kept == 0) return {mask, mask < parts.maxPhases ? mask : 0};
  return {mask ? std::min(mask, kept) : kept, kept};  // rows outside the ring are gone for every query
}

/// The demand of every layer before its own budget or mask.
LayerDemand commonDemand(const SessionParts& parts, const std::vector<kernels::RowFormat>& formats) {
  const Manifest& m = parts.manifest;
  const KindSizes sizes = parts.kind->sizes(m, parts.model->config());
  const auto history =
      static_cast<std::int32_t>(std::min(kMostSlots - sizes.pool - sizes.room, historyRows(m, formats)));
  return {sizes.pool, 0, sizes.room, m.prefillChunk, m.ring.blockTokens, history, m.ring.tailOnly};
}

/// Rows that a cache layer holds beyond `capacity` until its policy decides again, and a block of new ones; else 0.
std::int32_t rowsBeyond(const CacheState* content, CacheLayer layer, std::int32_t capacity, std::int32_t block) {
  if (!content || !content->policy || !content->policy->layers[at(layer)].budget) return 0;
  const auto rows = static_cast<std::int32_t>(content->map(layer).size());
  return rows > capacity ? rows + block : 0;
}

/// Asks the back end for the total size before the first allocation.
Status fits(const SessionParts& parts, const std::vector<LayerPool>& pools) {
  const auto mebibytes = [](std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  const std::int64_t weights =
      parts.weights ? 0 : PlacedWeights::bytes(*parts.model, *parts.backend, parts.manifest.weights == kDequantise);
  std::int64_t rows = 0;
  for (const LayerPool& pool : pools) rows += kernels::rowLayout(pool.format).stride * pool.slots;
  const std::int64_t work = Transformer::bytes(parts.model->config(), parts.maxPhases, parts.manifest.prefillChunk);
  const std::int64_t there = parts.backend->available();
  if (weights + rows + work <= there) return ok();
  return Error{"out_of_memory",
               "the session was not opened",
               "weights need " + mebibytes(weights) + ", rows " + mebibytes(rows) + ", the pass " + mebibytes(work) +
                   ", and " + mebibytes(there) + " are free on " + parts.backend->device(),
               "lower capacity, history_bytes or prefill_chunk, or use --backend cpu",
               std::nullopt,
               "capacity",
               parts.capacity};
}

}  // namespace

std::optional<kernels::DType> rowTypeNamed(const std::string& name) {
  for (kernels::DType type :
       {kernels::DType::f32, kernels::DType::f16, kernels::DType::bf16, kernels::DType::i8, kernels::DType::fp8e4m3})
    if (name == kernels::dtypeName(type)) return type;
  return std::nullopt;
}

std::vector<std::int32_t> rowsBounded(const Manifest& manifest, const CacheState& content) {
  std::vector<std::int32_t> out(content.groupOf.size());
  if (!content.policy || content.policy->prefilling) return out;
  for (const CacheLayer layer : content.layers()) {
    const LayerAudit& audit = content.policy->audit.layers[at(layer)];
    const auto there = static_cast<std::int64_t>(content.map(layer).size());
    const std::int64_t kept = std::max(there, std::int64_t{audit.allowed()});
    if (audit.bounded)
      out[at(layer)] = static_cast<std::int32_t>(std::min(kMostSlots, kept + manifest.ring.blockTokens));
  }
  return out;
}

Error badKey(const char* key, const nlohmann::json& value, const std::string& why, const std::string& remedy) {
  return {"bad_manifest", "the manifest was refused", why, remedy, std::nullopt, key, value};
}

Status checkOverrides(const Manifest& manifest, Layer last) {
  for (const LayerOverride& one : manifest.layers)
    if (one.to > last)
      return badKey("layers", one.to.value(), "layer " + std::to_string(one.to.value()) + " does not exist",
                    "the model has layers 0 to " + std::to_string(last.value()));
  return ok();
}

/// Codecs are functions of the host, and of keys before rotation.
Status checkCodecs(const SessionParts& parts, const kernels::RowFormat& format) {
  if (format.codecs == 0) return ok();
  const std::string& of = codecOf(format.codecs, codecOf(format.codecs, false).empty());
  if (!parts.backend->onHost())
    return badKey("kv", of, "a codec runs on the CPU, and the rows lie on " + parts.backend->device(),
                  "use backend cpu");
  if (parts.manifest.keyPhase == "on_read") return ok();
  return badKey("kv", of, "keys that are turned where they lie would have to be encoded again",
                "use key_phase on_read");
}

/// Stored rotations would have to change when the context outgrows the length that its frequencies are for.
Status checkKeyPhase(const SessionParts& parts) {
  if (parts.manifest.keyPhase == "on_read") return ok();
  for (const Rope& rope : parts.model->config().ropes)
    if (const std::int64_t change = lengthOfChange(rope); change > 0 && parts.maxPhases > change)
      return badKey("key_phase", parts.manifest.keyPhase,
                    "the model turns keys by other frequencies from " + std::to_string(change) + " tokens on",
                    "use key_phase on_read, or a capacity below that");
  return ok();
}

std::vector<std::int32_t> windowsOf(const SessionParts& parts) {
  std::vector<std::int32_t> out;
  for (const CacheLayer own : parts.cacheLayers.each())
    out.push_back(windowOf(parts, parts.cacheLayers.layerOf(own)).mask);
  return out;
}

Result<StoragePlan> planStorage(const SessionParts& parts, const CacheState* content, std::vector<std::int32_t> rows) {
  KV_TRY(checkOverrides(parts.manifest, parts.cacheLayers.last()));
  const Manifest& m = parts.manifest;
  const ModelConfig& config = parts.model->config();
  KV_TRY(checkKeyPhase(parts));
  StoragePlan plan;
  std::vector<std::string> specs;
  for (const CacheLayer own : parts.cacheLayers.each()) {
    const Layer layer = parts.cacheLayers.layerOf(own);
    plan.formats.push_back(KV_TRY(rowFormat(parts, layer)));
    KV_TRY(checkCodecs(parts, plan.formats.back()));
    if (!kernels::rowFormatSupported(plan.formats.back()))
      return badKey("model", m.model,
                    "rows of " + std::to_string(config.headDim) + " values per head are not supported",
                    "use a model whose head_dim is at most " + std::to_string(kernels::kHeadDimMax));
    specs.push_back(m.layoutOf(layer));
  }
  if (content && rows.empty()) rows = rowsBounded(m, *content);
  std::vector<LayerDemand> demands(specs.size(), commonDemand(parts, plan.formats));
  const bool keepsMasked = parts.kind->sizes(m, config).keepsMasked;
  for (const CacheLayer own : parts.cacheLayers.each()) {
    LayerDemand& demand = demands[at(own)];
    demand.capacity = std::max(demand.capacity, rowsBeyond(content, own, demand.capacity, m.ring.blockTokens));
    const std::unique_ptr<StorageLayout> layout = KV_TRY(makeLayout(specs[at(own)]));
    demand.keep = keepsMasked ? 0 : windowOf(parts, parts.cacheLayers.layerOf(own)).keep;
    demand.capacity = std::max(demand.capacity, demand.keep);  // a window needs its rows even if capacity is smaller
    if (!rows.empty() && rows[at(own)] && !layout->dropsMasked())
      demand.rows = std::clamp(rows[at(own)], demand.keep, demand.capacity);
  }
  plan.layouts = KV_TRY(LayoutSet::make(specs, std::move(demands)));
  return plan;
}

Result<CacheStore> makeStore(const SessionParts& parts, const StoragePlan& plan) {
  std::vector<LayerPool> pools = plan.layouts.pools(plan.formats);
  KV_TRY(fits(parts, pools));
  return CacheStore::create(*parts.backend, std::move(pools));
}

Status freshStorage(SessionParts& parts) {
  StoragePlan plan = KV_TRY(planStorage(parts));
  CacheStore store = KV_TRY(makeStore(parts, plan));
  replacePools(parts, std::move(store), std::move(plan.layouts));
  return ok();
}

void replacePools(SessionParts& parts, CacheStore store, LayoutSet layouts) {
  if (parts.replaced && !parts.replaced->store) {
    parts.replaced->store.emplace(std::move(parts.store));
    parts.replaced->layouts.emplace(std::move(parts.layouts));
  }
  parts.store = std::move(store);
  parts.layouts = std::move(layouts);
}

Status likeStorage(SessionParts& parts, const SessionParts& other, const LayerSlots& rows) {
  std::vector<kernels::RowFormat> formats;
  for (const CacheLayer layer : other.store.layers()) formats.push_back(other.store.pool(layer).format());
  std::vector<LayerPool> pools = other.layouts.pools(formats);
  KV_TRY(fits(parts, pools));
  parts.store = KV_TRY(CacheStore::like(*parts.backend, other.store, std::move(pools), rows));
  parts.layouts = other.layouts;
  return ok();
}

}  // namespace kvlab
