// SPDX-License-Identifier: Apache-2.0
// Building a session from its manifest.
#include <algorithm>
#include <thread>

#include "core/files/capture.h"
#include "core/model/decoder/int8_weights.h"
#include "core/session/session.h"

namespace kvlab {
namespace {

Error badKey(const char* key, const nlohmann::json& value, const std::string& why, const std::string& remedy) {
  return Error{"bad_manifest", "the manifest was refused", why, remedy, std::nullopt, key, value};
}

std::optional<kernels::DType> dtypeOf(const std::string& name) {
  for (kernels::DType type :
       {kernels::DType::f32, kernels::DType::f16, kernels::DType::bf16, kernels::DType::i8, kernels::DType::fp8e4m3})
    if (name == kernels::dtypeName(type)) return type;
  return std::nullopt;
}

/// Row format: kv.k and kv.v of the layer, else dtype, else the weights' type.
kernels::RowFormat rowFormat(const Manifest& manifest, const Model& model, int layer, int perLayer) {
  const kernels::DType base = dtypeOf(manifest.dtype).value_or(model.dtype());
  return {model.config().kvHeads / perLayer, model.config().headDim, dtypeOf(manifest.kOf(layer)).value_or(base),
          dtypeOf(manifest.vOf(layer)).value_or(base)};
}

/// Rows per layer that historyBytes pays for.
std::int64_t historyRows(const Manifest& manifest, const std::vector<kernels::RowFormat>& formats) {
  std::int64_t bytes = 0;
  for (const kernels::RowFormat& format : formats) bytes += kernels::rowLayout(format).stride;
  return manifest.historyBytes / bytes;
}

/// Phases that the mask of a layer lets through, 0 = all.
std::int32_t maskOf(const Manifest& manifest, const ModelConfig& config, int layer) {
  const std::int32_t own =
      config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[static_cast<std::size_t>(layer)];
  const std::int32_t wanted = manifest.windowOf(layer) >= 0 ? manifest.windowOf(layer) : own;
  const std::int32_t kept = manifest.ring.window;  // nobody sees what is gone
  return kept && wanted ? std::min(kept, wanted) : std::max(kept, wanted);
}

constexpr std::int64_t kMostSlots = std::int64_t{1} << 28;

}  // namespace

Session::Session() = default;
Session::~Session() = default;

void Session::setCapture(std::unique_ptr<CaptureLog> log) { m_capture = std::move(log); }

Result<std::unique_ptr<Session>> Session::open(const Manifest& manifest, const std::string& resources,
                                               const Progress& progress) {
  std::unique_ptr<Session> session(new Session);
  session->m_manifest = session->m_opened = manifest;
  if (Status built = session->build(resources, progress); !built) return built.error();
  return session;
}

Status Session::build(const std::string& resources, const Progress& progress) {
  if (Status chosen = chooseBackend(m_manifest.backend, m_manifest.numerics); !chosen) return chosen;
  Result<std::shared_ptr<const Model>> model = Model::open(m_manifest.model, resources, progress);
  if (!model) return model.error();
  if (m_manifest.weights == "int8") model = withInt8Weights(model.take(), progress);
  if (!model) return model.error();
  m_model = model.take();
  m_resources = resources;
  return equip(progress);
}

Status Session::chooseBackend(const std::string& id, const std::string& numerics) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  kernels::BackendAnswer answer =
      kernels::openBackend(id, m_manifest.threads ? m_manifest.threads : static_cast<int>(cores), numerics);
  if (answer.otherNumerics)
    return badKey("numerics", numerics, answer.why, "leave numerics out for the exact one of the back end");
  if (!answer.backend)
    return Error{
        "no_backend", "the CUDA backend was refused", answer.why, "use --backend cpu or auto", std::nullopt, "backend",
        "cuda"};
  m_backend = std::move(answer.backend);
  return ok();
}

/// Nothing is allocated before it is known to fit.
Status Session::planMemory(const std::vector<LayerPool>& pools) const {
  const auto mebibytes = [](std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  const ModelConfig& config = m_model->config();
  const std::int64_t weights = m_weights ? 0 : PlacedWeights::bytes(*m_model, *m_backend);
  std::int64_t rows = 0;
  for (const LayerPool& pool : pools) rows += kernels::rowLayout(pool.format).stride * pool.slots;
  const std::int64_t work = Transformer::bytes(config, m_maxPhases, m_manifest.prefillChunk);
  const std::int64_t there = m_backend->available();
  if (weights + rows + work <= there) return ok();
  return Error{"out_of_memory",
               "the session was not opened",
               "weights need " + mebibytes(weights) + ", rows " + mebibytes(rows) + ", the pass " + mebibytes(work) +
                   ", and " + mebibytes(there) + " are free on " + m_backend->device(),
               "lower capacity, history_bytes or prefill_chunk, or use --backend cpu",
               std::nullopt,
               "capacity",
               m_capacity};
}

/// Layouts and row formats of the cache layers, as the manifest wants them; with room for no more rows than heads keep
/// whose share of an adaptive budget is decided.
Status Session::planStorage(LayoutSet& layouts, std::vector<kernels::RowFormat>& formats,
                            const PolicyState* decided) const {
  const ModelConfig& config = m_model->config();
  for (const LayerOverride& one : m_manifest.layers)
    if (one.to >= config.layers)
      return badKey("layers", one.to, "layer " + std::to_string(one.to) + " does not exist",
                    "the model has layers 0 to " + std::to_string(config.layers - 1));
  std::vector<std::string> specs;
  for (int own = 0; own < m_cacheLayers.count(); ++own) {
    const int layer = m_cacheLayers.layerOf(Layer(own)).value();
    formats.push_back(rowFormat(m_manifest, *m_model, layer, m_cacheLayers.perLayer));
    if (!kernels::rowFormatSupported(formats.back()))
      return badKey("model", m_manifest.model,
                    "rows of " + std::to_string(config.headDim) + " values per head are not supported",
                    "use a model whose head_dim is a multiple of 8 between 16 and 256");
    specs.push_back(m_manifest.layoutOf(layer));
  }
  const auto capacity =
      static_cast<std::int32_t>(m_manifest.wlod ? WlodState::mostRows(m_manifest.wlod->budget) : m_capacity);
  const std::int32_t room =
      m_manifest.wlod ? capacity : m_manifest.staging;  // an edit computes rows beside those that it replaces
  const auto history =
      static_cast<std::int32_t>(std::min(kMostSlots - capacity - room, historyRows(m_manifest, formats)));
  std::vector<LayerDemand> demands(
      specs.size(),
      LayerDemand{capacity, m_manifest.ring.window, room,
                  std::max(m_manifest.prefillChunk, m_manifest.ring.blockTokens), history, m_manifest.ring.tailOnly});
  for (std::size_t own = 0; own < specs.size(); ++own) {
    const Layer layer(static_cast<std::int32_t>(own));
    if (decided && decided->layers[own].budget)
      demands[own].capacity = decided->audit.layers[own].bands.capacity() + m_manifest.ring.blockTokens;
    Result<std::unique_ptr<StorageLayout>> layout = makeLayout(specs[own]);
    if (!layout) return layout.error();
    if (m_manifest.ring.window == 0 && (*layout)->dropsMasked())
      demands[own].keep = std::min(maskOf(m_manifest, config, m_cacheLayers.layerOf(layer).value()), capacity);
  }
  Result<LayoutSet> made = LayoutSet::make(specs, std::move(demands));
  if (!made) return made.error();
  layouts = made.take();
  return ok();
}

/// Everything around the model.
Status Session::equip(const Progress& progress) {
  const ModelConfig& config = m_model->config();
  m_cacheLayers = {config.layers, m_manifest.residentByHead() ? config.kvHeads : 1};
  m_capacity = m_manifest.wlod ? m_manifest.wlod->budget
      : m_manifest.capacity    ? m_manifest.capacity
                               : config.maxPositions;
  std::int64_t longest = std::max<std::int64_t>(m_capacity, config.maxPositions);
  if (m_manifest.wlod)
    longest =
        std::max(longest, m_manifest.wlod->moments ? std::int64_t{m_manifest.wlod->moments} : m_capacity * kGistBlock);
  m_maxPhases = static_cast<std::int32_t>(m_manifest.position == PositionMode::Absolute ? 4 * longest : longest + 1);
  if (!m_weights) {
    Result<std::shared_ptr<const PlacedWeights>> weights = PlacedWeights::place(m_model, m_backend, progress);
    if (!weights) return weights.error();
    m_weights = weights.take();
  }
  if (Status possible = policiesPossible(policiesWanted()); !possible) return possible;
  if (Result<std::shared_ptr<const GateWeights>> gates = gatesFor(policiesWanted()); !gates) return gates.error();
  if (Result<std::shared_ptr<const FutureMass>> future = futureFor(policiesWanted()); !future) return future.error();
  if (m_manifest.wlod)
    if (Status equipped = equipWlod(); !equipped) return equipped;
  if (Status stored = freshStorage(); !stored) return stored;
  Result<std::unique_ptr<Transformer>> transformer = Transformer::create(
      m_weights, *m_backend, m_maxPhases, m_manifest.prefillChunk, m_manifest.keyPhase == "at_write");
  if (!transformer) return transformer.error();
  m_transformer = transformer.take();
  const SamplingSettings& s = m_manifest.sampling;
  m_sampler = std::make_unique<Sampler>(SamplingOptions{s.temperature, s.topK, s.topP, s.repetitionPenalty, s.seed});
  m_compressor = std::make_unique<NearestCompressor>(m_model);
  for (const Invariant& invariant : invariants())
    m_invariants.push_back({std::string(invariant.id), std::string(invariant.title), true, "", Tick(0), {}});
  m_backend->setLogging(m_manifest.opEvents);
  m_info = describe();
  startState();
  return ok();
}

/// A session over the same model, weights and files, that computes where this one does, whatever "auto" would choose by
/// now.
Result<std::unique_ptr<Session>> Session::sibling(Manifest manifest, Manifest opened) const {
  std::unique_ptr<Session> other(new Session);
  other->m_manifest = std::move(manifest);
  other->m_opened = std::move(opened);
  other->m_model = m_model;
  other->m_resources = m_resources;
  other->m_gates = m_gates;
  other->m_records = m_records;
  other->m_weights = m_weights;
  if (other->m_manifest.wlod && m_manifest.wlod && other->m_manifest.wlod->gist == m_manifest.wlod->gist &&
      other->m_manifest.wlod->lens == m_manifest.wlod->lens)
    other->m_wlod = m_wlod;
  if (Status chosen = other->chooseBackend(m_backend->id(), m_backend->ops().numericsId()); !chosen)
    return chosen.error();
  if (Status equipped = other->equip({}); !equipped) return equipped.error();
  other->m_execute = m_execute;
  return other;
}

Result<std::unique_ptr<Session>> Session::fork() const {
  if (Status usableNow = usable(); !usableNow) return usableNow.error();
  Result<std::unique_ptr<Session>> forked = sibling(m_manifest, m_opened);
  if (!forked) return forked;
  Session* copy = forked->get();
  copy->m_state = ownCopy(m_state);
  copy->restoreRows(copyRows());
  copy->m_layouts.restart(copy->m_store, copy->m_state);
  copy->m_timeline = m_timeline.trunk(copy->m_state);
  copy->m_pending = m_pending;
  copy->m_status = m_status;
  copy->m_breakpoints = m_breakpoints;
  copy->m_invariants = m_invariants;
  copy->m_report = m_report;
  copy->m_drift = m_drift;
  copy->m_attentionUntil = m_attentionUntil;
  copy->m_bytesMoved = m_bytesMoved;
  copy->m_checks = m_checks;
  copy->publish();
  return forked;
}

Result<std::unique_ptr<Session>> Session::beside(Manifest manifest) const {
  const auto differs = [](const char* key, const nlohmann::json& value, const nlohmann::json& own) {
    return Error{"lane_differs",
                 "the session was not opened beside another",
                 std::string(key) + " is " + value.dump() + " there and " + own.dump() + " here",
                 "leave " + std::string(key) + " out, or open a session of its own",
                 std::nullopt,
                 key,
                 value};
  };
  if (manifest.model != m_manifest.model) return differs("model", manifest.model, m_manifest.model);
  if (manifest.backend != m_manifest.backend && manifest.backend != m_backend->id())
    return differs("backend", manifest.backend, m_backend->id());
  const std::string numerics = m_backend->ops().numericsId();
  if (!manifest.numerics.empty() && manifest.numerics != numerics)
    return differs("numerics", manifest.numerics, numerics);
  if (manifest.weights != m_manifest.weights) return differs("weights", manifest.weights, m_manifest.weights);
  if (manifest.dtype != m_manifest.dtype) return differs("dtype", manifest.dtype, m_manifest.dtype);
  Manifest opened = manifest;
  return sibling(std::move(manifest), std::move(opened));
}

/// Phases that each layer's mask lets through.
std::vector<std::int32_t> Session::windows() const {
  std::vector<std::int32_t> out;
  for (int own = 0; own < m_cacheLayers.count(); ++own)
    out.push_back(maskOf(m_manifest, m_model->config(), m_cacheLayers.layerOf(Layer(own)).value()));
  return out;
}

/// Layouts and empty pools as the manifest wants them.
Status Session::freshStorage() {
  std::vector<kernels::RowFormat> formats;
  LayoutSet layouts;
  if (Status planned = planStorage(layouts, formats); !planned) return planned;
  std::vector<LayerPool> pools = layouts.pools(formats);
  if (Status fits = planMemory(pools); !fits) return fits;
  Result<CacheStore> store = CacheStore::create(*m_backend, std::move(pools));
  if (!store) return store.error();
  m_store = store.take();
  m_layouts = std::move(layouts);
  return ok();
}

/// Empty cache; layers that are alike share a group from the start.
void Session::startState() {
  m_state = CacheState{};
  m_state.perLayer = m_cacheLayers.perLayer;
  m_layouts.start(m_state, windows());
  m_state.policy = startPolicies();
  m_state.wlod = startWlod();
  m_layouts.restart(m_store, m_state);
  m_state.random = {m_manifest.sampling.seed, 0};
  m_timeline.start(m_state);
  m_pending.clear();
  m_report = nullptr;
  m_drift.reset();
  m_quantisation.reset();
  m_attention.reset();
  m_exactness.reset();
  m_status = SessionState::Empty;
  m_brokenReason.clear();
  publish();
}

std::shared_ptr<SessionInfo> Session::describe() const {
  auto info = std::make_shared<SessionInfo>();
  const ModelConfig& config = m_model->config();
  info->model = m_manifest.model;
  info->numerics = m_backend->ops().numericsId();
  info->backend = m_backend->id();
  info->cacheLayers = m_cacheLayers;
  info->heads = config.heads;
  info->kvHeads = config.kvHeads;
  info->headDim = config.headDim;
  info->vocab = config.vocab;
  info->capacity = m_capacity;
  info->staging = m_manifest.staging;
  info->manifest = m_manifest.toJson();
  for (std::int32_t id = 0; id < config.vocab; ++id) {
    info->tokenTexts.push_back(m_model->tokenizer().tokenText(TokenId(id)));
    info->specialTokens.push_back(m_model->tokenizer().isSpecial(TokenId(id)));
  }
  return info;
}

}  // namespace kvlab
