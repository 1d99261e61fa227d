// SPDX-License-Identifier: Apache-2.0
// Cost of each layout in a full window: an append (the oldest row leaves), the reference list of edits, and the cost of
// reading the window for one query, assembled or in place. Two layers of real shapes, figures per layer;
// ratios to contiguous_splice. Reads take turns with reads of indirection and are compared through these, because the
// machine's bandwidth varies. Forward passes are not in these figures.

#include "bench/shaped_cache.h"
#include "core/edit/assembly.h"
#include "core/edit/recompute.h"

namespace kvlab {
namespace {

constexpr int kLayers = 2;

struct Figures {
  std::vector<double> append, appendBytes, edit, editBytes, read, readBytes, turns;  // turns: read / indirection's
};

Status measureEdits(ShapedCache& cache, std::int32_t rows, int runs, Figures& out) {
  const auto position = [&](double share) { return Position(static_cast<std::int32_t>(share * rows)); };
  const auto next = [](Position p) { return Position(p.value() + 1); };
  for (int run = 0; run < runs + 1; ++run) {
    for (int i = 0; i < 4; ++i) {
      EditCost append = KV_TRY(applyTo(cache, {Add{TokenId(8)}}));
      if (run == 0) continue;  // warm
      out.append.push_back(append.commit / kLayers);
      out.appendBytes.push_back(append.bytes / kLayers);
    }
    const std::int32_t left = static_cast<std::int32_t>(cache.state.context.size()) - rows;  // before the window
    const Position a(position(0.5).value() + left), b(position(0.51).value() + left);
    EditCost edit = KV_TRY(applyTo(
        cache, {ReplacePair{a, next(a), {TokenId(5)}}, ReplacePair{b, next(b), {TokenId(6)}}, Add{TokenId(7)}}));
    KV_TRY(applyTo(cache, {Add{TokenId(9)}}));
    if (run == 0) continue;
    out.edit.push_back(edit.commit / kLayers);
    out.editBytes.push_back(edit.bytes / kLayers);
  }
  return ok();
}

struct Read {
  double us = 0, bytes = 0;
};

/// One query of the newest row over the window, as a forward pass makes it.
Read measureRead(ShapedCache& cache, const CacheShape& shape, kernels::Backend& backend) {
  const LayerGroup& group = cache.state.group(CacheLayer(0));
  const ResidencyView& map = *group.map;
  const kernels::RowFormat format = cache.store.pool(CacheLayer(0)).format();
  const std::vector<RowTarget> target{targetAt(cache.state, cache.state.length() - 1)};
  const GroupPass pass = groupPass(cache.state.context, group, target, false, LeftRows::Gone);
  std::vector<float> table(map.size() * at(shape.headDim), 0.5f), queries(at(shape.heads * shape.headDim), 0.1f),
      result(queries.size());
  kernels::Staging outer(backend);
  const float *placedTable = outer.in(table), *placedQueries = outer.in(queries);
  float* placedResult = outer.out(result.data(), result.size());
  kernels::Staging staging(backend);
  Assemblies assemblies(backend, staging, cache.store.ringReads());
  const auto start = BenchClock::now();
  const Assembled copy = assemblies.make(
      0, group, pass, format, {.n = 1, .rows = static_cast<std::int64_t>(group.map->size()), .targets = target.data()});
  kernels::AttentionArgs args;
  args.fmt = copy.records ? copy.format : format;
  const MapMirror::View view = cache.store.mirrored(0, map);
  args.slots = copy.records ? copy.slots : view.slots;
  args.phaseIndex = view.phases;
  args.rows = static_cast<std::int64_t>(map.size());
  args.rotaryTable = placedTable;
  args.queries = placedQueries;
  args.nQueries = 1;
  args.queryHeads = shape.heads;
  args.rowBegin = staging.in(pass.rowBegin);
  args.rowEnd = staging.in(pass.rowEnd);
  args.scale = 0.1f;
  args.out = placedResult;
  for (const CacheLayer layer : cache.store.layers()) {
    assemble(backend.ops(), backend.context(), copy, cache.store.pool(layer).data(), format, nullptr);
    args.pool = copy.records ? copy.records : cache.store.pool(layer).data();
    backend.ops().attention(backend.context(), args);
  }
  staging.finish();
  const double us = 1e6 * secondsSince(start) / kLayers;
  const double rows = static_cast<double>(map.resident()) * static_cast<double>(kernels::rowLayout(format).stride);
  return {us, rows + (copy.records ? 2 * rows : 0)};
}

void measureReads(ShapedCache& cache, ShapedCache& indirection, const CacheShape& shape, kernels::Backend& backend,
                  int runs, Figures& out) {
  for (int run = 0; run < runs + 1; ++run) {
    const Read beside = measureRead(indirection, shape, backend), read = measureRead(cache, shape, backend);
    if (run == 0) continue;  // warm
    out.read.push_back(read.us);
    out.readBytes.push_back(read.bytes);
    out.turns.push_back(read.us / beside.us);
  }
}

}  // namespace

Status benchStorage(const BenchOptions& options, nlohmann::json& rows) {
  const CacheShape shapes[] = {{"tinyllama-1.1b", kLayers, 4, 64, 32}, {"7b-mha", kLayers, 32, 128, 32}};
  const std::unique_ptr<kernels::Backend> backend = KV_TRY(benchBackend(options));
  for (const CacheShape& shape : shapes)
    for (const std::int32_t count : {8192, 32768}) {
      if (options.quick && (count > 8192 || shape.kvHeads > 4)) continue;
      std::vector<std::pair<std::string, Figures>> all;
      ShapedCache indirection = KV_TRY(
          makeShapedCache(shape, layouts().front(), count, count, kernels::DType::f16, kernels::DType::f16, *backend));
      for (const LayoutName& info : layouts()) {
        say(std::string("storage: ") + shape.name + ", " + std::string(info.name));
        ShapedCache cache =
            KV_TRY(makeShapedCache(shape, info, count, count, kernels::DType::f16, kernels::DType::f16, *backend));
        Figures figures;
        KV_TRY(measureEdits(cache, count, options.quick ? 1 : 7, figures));
        measureReads(cache, indirection, shape, *backend, options.quick ? 1 : 15, figures);
        all.emplace_back(info.name, std::move(figures));
      }
      const auto median = [](std::vector<double> samples) {
        return benchRow("", "", "", "", std::move(samples))["median"].get<double>();
      };
      const Figures* splice = nullptr;
      for (const auto& [name, figures] : all)
        if (name == "contiguous_splice") splice = &figures;
      for (const auto& [name, figures] : all) {
        const std::string what = std::string(shape.name) + ", " + std::to_string(count) + " rows, " + name;
        const auto add = [&](const char* metric, const std::vector<double>& samples, const std::vector<double>& base,
                             const std::vector<double>& bytes) {
          rows.push_back(benchRow("storage", what, metric, "us", samples));
          rows.push_back(benchRow("storage", what, std::string(metric) + "_bytes", "B", bytes));
          rows.push_back(
              benchRow("storage", what, std::string(metric) + "_ratio", "x", {median(samples) / median(base)}));
        };
        add("append", figures.append, splice->append, figures.appendBytes);
        add("edit", figures.edit, splice->edit, figures.editBytes);
        add("read", figures.read, figures.read, figures.readBytes);
        rows.back()["median"] = rows.back()["min"] = rows.back()["max"] = median(figures.turns) / median(splice->turns);
        rows.push_back(benchRow("storage", what, "read_to_indirection", "x", figures.turns));
      }
    }
  return ok();
}

}  // namespace kvlab
