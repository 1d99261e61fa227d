// SPDX-License-Identifier: Apache-2.0
// wLOD without a session: incremental against full recompute over where an edit stands and how many blocks it
// collapses, and how a full pass grows with the time line, flat and pyramid. The working context begins as tokens
// alone, so rows are moments. Each edit is undone by the expansion that follows it, which counts as a run.
#include "core/experiment/bench_rig.h"
#include "core/kinds/wlod/edit/wlod_mirror.h"

namespace kvlab {
namespace {

constexpr double kPlaces[] = {0.02, 0.25, 0.5, 0.75, 0.95};

struct Machine {
  const BenchOptions& options;
  std::shared_ptr<kernels::Backend> backend;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const PlacedWeights> weights;
};

/// A time line of one length with its rows.
class WlodLine {
 public:
  WlodLine(const Machine& machine, Transformer& transformer, LayoutSet layouts, CacheStore store,
           WlodAttention attention)
      : m_machine(machine),
        m_store(std::move(store)),
        m_layouts(std::move(layouts)),
        m_net(meanGistNet(machine.model->config().hidden)),
        m_transaction(transformer, m_store, m_layouts, m_faults, *m_net) {
    auto wlod = std::make_shared<WlodState>();
    wlod->rules.attention = attention;
    wlod->rules.working = {kMostMoments, 0, 0};
    wlod->tree = MegaContext(machine.model->config().hidden);
    m_state.kind = std::move(wlod);
    m_layouts.start(m_state, std::vector<std::int32_t>(m_store.layers().size()));
  }

  /// Seconds of a list of actions, or of a full recompute where there is none.
  Result<double> timed(const std::vector<Action>& actions) {
    Trace trace;
    const auto start = BenchClock::now();
    Result<WlodApplied> done = WlodApplied{};
    if (actions.empty()) {
      done = m_transaction.rebuild(m_state, trace);
    } else {
      WlodPlan plan = KV_TRY(planWlod(wlodIn(m_state), m_machine.model->config().vocab, actions));
      done = m_transaction.run(m_state, plan, Source::Prompt, WlodRecompute::Incremental, {}, trace);
    }
    if (!done) return done.error();
    const double seconds = secondsSince(start);
    Applied next = KV_TRY(m_transaction.commit(m_state, done.take(), {{}, m_layouts}, trace));
    m_state = std::move(next.state);
    m_store.release(next.freed);
    return seconds;
  }

  Result<double> fill(int length) {
    std::vector<Action> adds;
    for (const TokenId token : benchTokens(length, m_machine.model->config().vocab)) adds.push_back(Add{token});
    return timed(adds);
  }
  std::int32_t rows() const { return wlodIn(m_state).count(); }

 private:
  const Machine& m_machine;
  CacheStore m_store;
  LayoutSet m_layouts;
  FaultDoor m_faults;
  std::shared_ptr<const GistNet> m_net;
  WlodTransaction m_transaction;
  CacheState m_state;
};

Result<std::unique_ptr<WlodLine>> makeLine(const Machine& machine, Transformer& transformer, int length,
                                           WlodAttention attention) {
  const ModelConfig& c = machine.model->config();
  const kernels::RowFormat format{c.kvHeads, c.headDim, machine.model->dtype(), machine.model->dtype()};
  const auto slots = static_cast<std::int32_t>(2.2 * length) + 256;  // all rows twice, summaries with them
  LayoutSet set = LayoutSet::of(layouts().front(), c.layers, {.capacity = slots});
  CacheStore store = KV_TRY(CacheStore::create(*machine.backend, set.pools(std::vector(at(c.layers), format))));
  return std::make_unique<WlodLine>(machine, transformer, std::move(set), std::move(store), attention);
}

const char* nameOf(WlodAttention attention) { return attention == WlodAttention::Flat ? "flat" : "pyramid"; }

/// Blocks behind a place of the time line, neighbours, collapsed and expanded again.
Status measureEdit(WlodLine& line, const std::string& what, int length, double place, int blocks, double full, int runs,
                   nlohmann::json& rows) {
  std::vector<Action> down, up;
  const int most = length / kGistBlock, first = std::min(static_cast<int>(place * most), most - blocks - 1);
  for (int b = 0; b < blocks; ++b) {
    const NodeId node = TreeNode{1, (first + b) * kGistBlock}.id();
    down.push_back(Collapse{node});
    up.push_back(Expand{node});
  }
  std::vector<double> times, ratios;
  for (int run = 0; run < runs; ++run)
    for (const std::vector<Action>* list : {&down, &up}) {
      const double seconds = KV_TRY(line.timed(*list));
      times.push_back(seconds * 1e3);
      ratios.push_back(full / seconds);
    }
  const std::string edit = what + ", " + std::to_string(blocks) + (blocks == 1 ? " block" : " blocks") + " at " +
      std::to_string(static_cast<int>(place * 100)) + " %";
  rows.push_back(benchRow("wlod", edit, "incremental", "ms", times));
  rows.push_back(benchRow("wlod", edit, "full_over_incremental", "x", ratios));
  return ok();
}

Status measureLine(const Machine& machine, Transformer& transformer, int length, WlodAttention attention, bool edits,
                   nlohmann::json& rows) {
  std::unique_ptr<WlodLine> line = KV_TRY(makeLine(machine, transformer, length, attention));
  KV_TRY(line->fill(length));
  const bool heavy = attention == WlodAttention::Flat && length > 8192;  // minutes for each pass
  const int runs = machine.options.quick || heavy ? 1 : length > 8192 ? 2 : 3;
  std::vector<double> fulls, perRow;
  for (int run = 0; run < runs; ++run) {
    const double seconds = KV_TRY(line->timed({}));
    fulls.push_back(seconds * 1e3);
    perRow.push_back(seconds * 1e6 / length);
  }
  const std::string what =
      machine.model->spec() + ", " + nameOf(attention) + ", " + std::to_string(length) + " entries";
  const nlohmann::json full = benchRow("wlod", what, "full", "ms", fulls);
  rows.push_back(full);
  rows.push_back(benchRow("wlod", what, "full_per_entry", "us", perRow));
  for (const double place : kPlaces)
    for (const int blocks : {1, 16})
      if (edits && blocks < length / kGistBlock / 2 && (!heavy || (place >= 0.5 && blocks == 1)))
        KV_TRY(measureEdit(*line, what, length, place, blocks, full["median"].get<double>() / 1e3, runs, rows));
  return ok();
}

}  // namespace

Status benchWlod(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  Machine machine{options, kernels::makeCpuBackend(threadsOf(options)), nullptr, nullptr};
  machine.model = KV_TRY(Model::open(!options.model.empty() ? options.model
                                         : options.quick    ? "synthetic:tiny"
                                                            : "demo",
                                     options.resources));
  std::shared_ptr<const PlacedWeights> weights = KV_TRY(PlacedWeights::place(machine.model, machine.backend));
  const std::vector<int> lengths = options.quick
      ? std::vector{256}
      : std::vector{2048, 8192, 32768, 131072};  // beyond a model's phases: time, not meaning
  std::unique_ptr<Transformer> transformer =
      KV_TRY(Transformer::create(weights, *machine.backend, lengths.back() + 1, 256));
  for (const WlodAttention attention : {WlodAttention::Pyramid, WlodAttention::Flat})
    for (const int length : lengths) {
      const bool edits = options.quick || length == 8192 || length == 32768;
      if (attention == WlodAttention::Flat && length > 32768) continue;  // hours
      KV_TRY(goOn(progress, std::string("wlod: ") + nameOf(attention) + ", " + std::to_string(length) + " entries"));
      KV_TRY(measureLine(machine, *transformer, length, attention, edits, rows));
    }
  return ok();
}

}  // namespace kvlab
