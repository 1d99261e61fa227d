// SPDX-License-Identifier: Apache-2.0
// wLOD over a synthetic model without a session: plans, transactions, row bytes.
#pragma once
#include <QtTest>
#include <random>

#include "core/kinds/wlod/edit/wlod_mirror.h"
#include "core/model/decoder/placed_weights.h"

namespace kvlab {

class WlodFixture {
 public:
  struct Options {
    WlodRules rules;
    std::string model = "synthetic:tiny", layout = "indirection";
    std::int32_t slots = 20000, maxPhases = 8192;
    int chunk = 64, threads = 2;
    std::shared_ptr<const GistNet> net = nullptr;
  };

  explicit WlodFixture(Options wanted) : options(std::move(wanted)), backend(kernels::makeCpuBackend(options.threads)) {
    model = Model::open(options.model, KVLAB_RESOURCES_DIR).take();
    const ModelConfig& c = model->config();
    transformer =
        Transformer::create(PlacedWeights::place(model, backend).take(), *backend, options.maxPhases, options.chunk)
            .take();
    const kernels::RowFormat format{c.kvHeads, c.headDim, model->dtype(), model->dtype()};
    layouts = LayoutSet::make(std::vector(static_cast<std::size_t>(c.layers), options.layout),
                              std::vector(static_cast<std::size_t>(c.layers), LayerDemand{.capacity = options.slots}))
                  .take();
    store = CacheStore::create(*backend, layouts.pools(std::vector(static_cast<std::size_t>(c.layers), format))).take();
    net = options.net ? options.net : meanGistNet(c.hidden);
    state.rules = options.rules;
    state.tree = MegaContext(c.hidden);
    cache.kind = std::make_shared<WlodState>(state);
    layouts.start(cache, std::vector<std::int32_t>(static_cast<std::size_t>(c.layers)));
  }

  /// Applies a list; the slots that nothing names any more are given back.
  Result<WlodApplied> apply(std::vector<Action> actions, WlodRecompute recompute = WlodRecompute::Incremental) {
    Result<WlodPlan> plan = planWlod(state, model->config().vocab, std::move(actions));
    if (!plan) return plan.error();
    return take(transaction().run(present(), *plan, Source::Prompt, recompute, {}, trace));
  }
  Result<WlodApplied> rebuild() { return take(transaction().rebuild(present(), trace)); }
  Result<WlodApplied> add(int count, unsigned seed = 5) {
    std::mt19937 random(seed);
    std::vector<Action> actions;
    for (int i = 0; i < count; ++i) actions.push_back(Add{TokenId(3 + static_cast<std::int32_t>(random() % 250))});
    return apply(std::move(actions));
  }

  /// Every row of a layer as it lies in the pool, in order of arrival.
  std::vector<std::uint8_t> bytes(CacheLayer layer, std::int32_t rows = -1) const {
    const std::span<const Slot> all = cache.group(layer).stored().slotOf.span();
    const std::span<const Slot> some = all.first(rows < 0 ? all.size() : static_cast<std::size_t>(rows));
    std::vector<std::uint8_t> out(some.size() * static_cast<std::size_t>(store.pool(layer).stride()));
    store.pool(layer).readRecords(some, out.data());
    return out;
  }
  std::vector<std::vector<std::uint8_t>> allBytes() const {
    std::vector<std::vector<std::uint8_t>> out;
    for (const CacheLayer layer : store.layers()) out.push_back(bytes(layer));
    return out;
  }
  /// K and V of every row, without tags: those depend on when a gist got its ledger row.
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> out;
    for (const CacheLayer layer : store.layers()) {
      const std::span<const std::int32_t> all = plain(cache.group(layer).stored().slotOf.span());
      std::vector<float>&k = out.emplace_back(all.size() * static_cast<std::size_t>(store.pool(layer).width())), v = k;
      store.pool(layer).gather(all, k.data(), v.data());
      k.insert(k.end(), v.begin(), v.end());
    }
    return out;
  }
  std::int32_t inUse() const { return options.slots - store.available(); }

  Options options;
  std::shared_ptr<kernels::Backend> backend;
  std::shared_ptr<const Model> model;
  std::unique_ptr<Transformer> transformer;
  CacheStore store;
  FaultDoor faults;
  std::shared_ptr<const GistNet> net;
  LayoutSet layouts;
  CacheState cache;
  Ledger ledger;    // ledger of the cache
  WlodState state;  // likewise; tests may change it before the next call
  std::vector<float> logits;
  Trace trace;

 private:
  WlodTransaction transaction() { return WlodTransaction(*transformer, store, layouts, faults, *net); }
  const CacheState& present() {
    cache.kind = std::make_shared<WlodState>(state);
    return cache;
  }
  Result<WlodApplied> take(Result<WlodApplied> done) {
    if (!done) return done;
    const Result<Applied> next = transaction().commit(cache, *done, {{}, layouts}, trace);
    if (!next) return next.error();
    cache = next->state;
    ledger = cache.ledger;
    state = wlodIn(cache);
    if (!done->result.logits.empty()) logits = done->result.logits;
    store.release(next->freed);
    return done;
  }
};

}  // namespace kvlab
