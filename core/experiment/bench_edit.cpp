// SPDX-License-Identifier: Apache-2.0
// What the knife costs: plan, splice and commit of the Step-4 list on a cache of 8 192 rows, over
// pools of real shapes filled with random rows, as many layers as fit in memory. No model runs: the
// forward pass of the three new rows is another figure.
#include <random>
#include <thread>

#include "core/edit/planner.h"
#include "core/edit/transaction.h"
#include "core/experiment/bench.h"

namespace kvlab {
namespace {

constexpr std::int32_t kRows = 8192;

struct Shape {
  const char* name;
  int layers, kvHeads, headDim;
};

struct Rig {
  CacheStore store;
  CacheState state;
};

/// A cache of kRows live tokens whose rows hold random numbers.
Result<Rig> makeRig(const Shape& shape, const LayoutSet& layouts, kernels::Backend& backend) {
  const kernels::RowFormat format{shape.kvHeads, shape.headDim, kernels::DType::bf16, kernels::DType::bf16};
  Result<CacheStore> store = CacheStore::create(backend, layouts.pools(std::vector(static_cast<std::size_t>(shape.layers), format)));
  if (!store) return store.error();
  Rig rig{store.take(), {}};
  layouts.start(rig.state, std::vector<std::int32_t>(static_cast<std::size_t>(shape.layers)));
  std::mt19937 random(1);
  std::vector<float> values(static_cast<std::size_t>(shape.kvHeads * shape.headDim) * 64);
  for (float& v : values) v = static_cast<float>(random()) / 4e9f - 0.5f;
  std::vector<LedgerId> ids;
  std::vector<std::uint64_t> tags(kRows);
  std::vector<std::int32_t> slots(kRows);
  for (std::int32_t i = 0; i < kRows; ++i) {
    LedgerRow row;
    row.token = TokenId(i % 1000);
    ids.push_back(rig.state.ledger.append(row));
    tags[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(i);
    slots[static_cast<std::size_t>(i)] = i;
  }
  for (int layer = 0; layer < shape.layers; ++layer) {
    for (std::int32_t i = 0; i < kRows; i += 64) {
      rig.store.pool(layer).write({slots.data() + i, 64}, values.data(), values.data(), tags.data() + i);
    }
  }
  rig.state.context.assign(ids);
  rig.state.phases = ramp(rig.state.ramp, kRows);
  rig.state.brightness.assign(std::vector<float>(kRows, 255.0f));
  rig.state.birthPhases = rig.state.phases;
  auto map = std::make_shared<ResidencyView>();
  map->ledger = rig.state.context;
  map->phases = rig.state.phases;
  map->slotOf = Column<Slot>::make(kRows, [](Slot* out) {
    for (std::int32_t i = 0; i < kRows; ++i) out[i] = Slot(i);
  });
  rig.state.groups[0].map = std::move(map);
  if (std::optional<RingState>& ring = rig.state.groups[0].ring) ring->filled = kRows, ring->offset = kRows;
  layouts.restart(rig.store, rig.state);
  rig.state.groups[0].provenance.assign(std::vector<Provenance>(kRows));
  return rig;
}

double microseconds(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count();
}

struct Samples {
  std::vector<double> plan, commit, bytes;
};

/// Applies a list to the rig's state; microseconds of the plan and of the commit, bytes moved.
struct Cost {
  double plan = 0, commit = 0, bytes = 0;
};

Result<Cost> apply(Rig& rig, Transaction& transaction, std::vector<Action> actions) {
  const PlanRules rules{PositionMode::Context, false, 1000, kRows + 1, 0, Source::Model};
  TransactionRules how;
  how.probes = false;
  Cost cost;
  const auto start = std::chrono::steady_clock::now();
  Result<EditPlan> plan = planEdit(rig.state, rules, std::move(actions));
  if (!plan) return plan.error();
  cost.plan = microseconds(start);
  Trace trace;
  const auto commit = std::chrono::steady_clock::now();
  Result<Applied> applied = transaction.run(rig.state, *plan, how, trace);
  if (!applied) return applied.error();
  rig.state = std::move(applied->state);
  cost.commit = microseconds(commit);
  cost.bytes = static_cast<double>(applied->bytesMoved);
  rig.store.release(applied->freed);
  return cost;
}

Result<Samples> measure(Rig& rig, const LayoutSet& layouts, int runs) {
  FaultDoor faults;
  Transaction transaction(nullptr, rig.store, layouts, faults);
  Samples samples;
  for (int run = 0; run < runs; ++run) {
    Result<Cost> cost = apply(rig, transaction, {ReplacePair{Position(4000), Position(4001), {TokenId(5)}},
                                                 ReplacePair{Position(4100), Position(4101), {TokenId(6)}}, Add{TokenId(7)}});
    if (!cost) return cost.error();
    samples.plan.push_back(cost->plan);
    samples.commit.push_back(cost->commit);
    samples.bytes.push_back(cost->bytes);
    if (Result<Cost> back = apply(rig, transaction, {Add{TokenId(8)}}); !back) return back.error();  // to 8 192 rows
  }
  return samples;
}

}  // namespace

Status benchEdit(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const Shape shapes[] = {{"tinyllama-1.1b, 22 layers", 22, 4, 64}, {"7b-mha, 32 layers", 32, 32, 128}};
  const auto [backend, why] =
      kernels::openBackend(options.backend, options.threads ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  if (!backend) return Error{"no_backend", "the benchmark did not run", why, "use --backend cpu"};
  for (Shape shape : shapes) {
    if (options.quick) shape.layers = 2;
    double indirection = 0;
    for (const LayoutInfo& info : layouts()) {
      if (!report(progress, std::string("edit: ") + shape.name + ", " + std::string(info.name), 0, 0))
        return Error{"cancelled", "the benchmark was cancelled", "on request", "run it again"};
      const LayoutSet layouts = LayoutSet::of(info, shape.layers, {kRows + 1, 0, 64, 0, 4096});
      Result<Rig> rig = makeRig(shape, layouts, *backend);
      if (!rig) return rig.error();
      Result<Samples> warm = measure(*rig, layouts, 2);
      if (!warm) return warm.error();
      Result<Samples> samples = measure(*rig, layouts, options.quick ? 3 : info.name == "indirection" ? 101 : 7);
      if (!samples) return samples.error();
      const std::string what = std::string(shape.name) + ", 8192 rows, " + std::string(info.name);
      rows.push_back(benchRow("edit", what, "plan", "us", samples->plan));
      rows.push_back(benchRow("edit", what, "commit", "us", samples->commit));
      rows.push_back(benchRow("edit", what, "bytes_moved", "B", samples->bytes));
      const double commit = rows[rows.size() - 2]["median"];
      if (indirection == 0) indirection = commit;
      else rows.push_back(benchRow("edit", what, "ratio_to_indirection", "x", {commit / indirection}));
    }
  }
  return ok();
}

}  // namespace kvlab
