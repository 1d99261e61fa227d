// SPDX-License-Identifier: Apache-2.0
#include "core/parts/open_parts.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "core/model/decoder/int8_weights.h"
#include "core/parts/kinds.h"
#include "core/parts/storage_plan.h"

namespace kvlab {
namespace {

Result<std::unique_ptr<CacheKind>> makeKind(const Manifest& manifest) {
  const auto found = std::ranges::find_if(kinds(), [&](const KindInfo& kind) { return kind.serves(manifest); });
  if (found != kinds().end()) return found->make();
  return Error("bad_manifest", "the session was refused", "this program has no kind of session for these settings",
               "omit the settings of that kind, or use a program that was built with it");
}

Status chooseBackend(SessionParts& parts, const std::string& id, const std::string& numerics) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const int threads = parts.manifest.threads ? parts.manifest.threads : static_cast<int>(cores);
  kernels::BackendAnswer answer = kernels::openBackend(id, threads, numerics);
  if (answer.otherNumerics)
    return badKey("numerics", numerics, answer.why, "omit numerics to use the backend's exact arithmetic");
  if (!answer.backend)
    return Error{"no_backend",
                 "the backend " + id + " was refused",
                 answer.why,
                 "use --backend cpu or auto",
                 std::nullopt,
                 "backend",
                 id};
  parts.backend = std::move(answer.backend);
  return ok();
}

/// A new backend of the same kind, on the same device, with the same arithmetic.
Status chooseLike(SessionParts& parts, const kernels::Backend& backend) {
  return chooseBackend(parts, backend.id(), backend.ops().numericsId());
}

/// Model, weights and files of another session under a manifest.
Result<SessionParts> sharing(const SessionParts& origin, const Manifest& manifest) {
  SessionParts parts;
  parts.manifest = manifest;
  parts.resources = origin.resources;
  parts.model = origin.model;
  parts.weights = origin.weights;
  parts.policyFiles = origin.policyFiles;
  parts.kind = KV_TRY(makeKind(parts.manifest));
  parts.kind->share(parts.manifest, *origin.kind);
  return parts;
}

/// Sets the rows per layer and the number of phases that the rotary table reaches.
void size(SessionParts& parts) {
  const Manifest& m = parts.manifest;
  const ModelConfig& config = parts.model->config();
  const KindSizes sizes = parts.kind->sizes(m, config);
  parts.cacheLayers = {config.layers, m.residentByHead() ? config.kvHeads : 1};
  parts.capacity = sizes.capacity;
  parts.maxPhases =
      static_cast<std::int32_t>(m.position == PositionMode::Absolute ? 4 * sizes.moments : sizes.moments + 1);
}

/// Keys that are stored rotated cannot follow frequencies that change with the length of the context.
Status rotationFits(const SessionParts& parts) {
  const std::vector<Rope>& ropes = parts.model->config().ropes;
  const bool follows = std::any_of(ropes.begin(), ropes.end(), [](const Rope& rope) { return rope.followsLength(); });
  if (!follows || parts.manifest.keyPhase != "at_write") return ok();
  return badKey(
      "key_phase", parts.manifest.keyPhase,
      "the rotation of this model changes with the length of the context, and stored keys would keep the old one",
      "use on_read");
}

/// Opens everything but the model. store: makes layouts and pools.
Status equip(SessionParts& parts, const Progress& progress,
             const std::function<Status(SessionParts& parts)>& store = freshStorage) {
  size(parts);
  KV_TRY(rotationFits(parts));
  if (!parts.weights) {
    parts.weights =
        KV_TRY(PlacedWeights::place(parts.model, parts.backend, progress, parts.manifest.weights == kDequantise));
  }
  KV_TRY(parts.policyFiles.load(parts, policiesWanted(parts)));
  KV_TRY(parts.kind->open(parts));
  KV_TRY(store(parts));
  const Manifest& m = parts.manifest;
  parts.transformer = KV_TRY(
      Transformer::create(parts.weights, *parts.backend, parts.maxPhases, m.prefillChunk, m.keyPhase == "at_write"));
  parts.sampler = std::make_unique<Sampler>(m.sampling);
  parts.compressor = std::make_unique<NearestCompressor>(parts.model);
  parts.backend->setLogging(m.opEvents);
  return ok();
}

/// The rows of a cache layer join those of its layer of the model.
void addRows(MemoryNeed& need, const SessionParts& parts, const StoragePlan& plan, CacheLayer own) {
  const Layer layer = parts.cacheLayers.layerOf(own);
  const kernels::RowFormat& format = plan.formats[at(own)];
  const std::int64_t stride = kernels::rowLayout(format).stride, slots = plan.layouts.slotsWithoutHistory(own);
  if (need.layers.empty() || need.layers.back().layer != layer)
    need.layers.push_back({layer, parts.manifest.layoutOf(layer), kernels::dtypeName(format.k),
                           kernels::dtypeName(format.v), parts.cacheLayers.perLayer * stride});
  need.layers.back().slots += slots;
  need.allocated += stride * slots;
}

}  // namespace

Result<MemoryNeed> memoryNeed(const Manifest& manifest, std::shared_ptr<const Model> model) {
  SessionParts parts;
  parts.manifest = manifest;
  parts.manifest.threads = 1;
  KV_TRY(chooseBackend(parts, manifest.backend, manifest.numerics));
  parts.model = std::move(model);
  parts.kind = KV_TRY(makeKind(manifest));
  size(parts);
  const StoragePlan plan = KV_TRY(planStorage(parts));
  MemoryNeed need;
  need.weights = parts.model->weightBytes();
  need.work = Transformer::bytes(parts.model->config(), parts.maxPhases, manifest.prefillChunk);
  need.capacity = parts.capacity;
  need.atOnce = !parts.backend->onHost();
  for (const CacheLayer own : parts.cacheLayers.each()) addRows(need, parts, plan, own);
  for (const LayerPool& pool : plan.layouts.pools(plan.formats))
    need.reserved += kernels::rowLayout(pool.format).stride * pool.slots;
  return need;
}

Result<SessionParts> openParts(const Manifest& manifest, const std::string& resources, const Progress& progress) {
  SessionParts parts;
  parts.manifest = parts.opened = manifest;
  parts.resources = resources;
  KV_TRY(chooseBackend(parts, manifest.backend, manifest.numerics));
  parts.model = KV_TRY(Model::open(manifest.model, resources, progress));
  if (manifest.weights == "int8") parts.model = KV_TRY(withInt8Weights(std::move(parts.model), progress));
  parts.kind = KV_TRY(makeKind(manifest));
  KV_TRY(equip(parts, progress));
  return parts;
}

Result<SessionParts> siblingParts(const SessionParts& origin, const Manifest& manifest) {
  SessionParts parts = KV_TRY(sharing(origin, manifest));
  parts.opened = manifest;
  KV_TRY(chooseLike(parts, *origin.backend));
  KV_TRY(equip(parts, {}));
  return parts;
}

Result<SessionParts> forkedParts(const SessionParts& origin, const LayerSlots& rows, const SessionParts* beside) {
  SessionParts parts = KV_TRY(sharing(origin, origin.manifest));
  parts.opened = origin.opened;
  if (beside) parts.backend = beside->backend->sibling();
  if (!parts.backend) KV_TRY(chooseLike(parts, *origin.backend));
  const auto store = [&](SessionParts& own) { return likeStorage(own, origin, rows); };
  KV_TRY(equip(parts, {}, store));
  return parts;
}

}  // namespace kvlab
