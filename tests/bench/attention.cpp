// SPDX-License-Identifier: Apache-2.0
// Attention of one query over stored rows, format against format: time of a layer, and how it follows the bytes.
// Rows lie in as many pools as it takes to leave the caches, one pool after the other, as the layers of a model
// do; the two formats of a ratio are measured in turns. Keys are rotated on read.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "bench/rig.h"
#include "kernels/backend/array.h"
#include "kernels/ops/op_bytes.h"

namespace kvlab {
namespace {

using kernels::DType;

struct AttentionShape {
  const char* name;
  int queryHeads, kvHeads, headDim, layers;
};

constexpr double kColdBytes = 192e6;  // six times a third-level cache of 32 MB

std::vector<float> someValues(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> v(n);
  for (float& x : v) x = static_cast<float>(random()) / 2147483648.0f - 1.0f;
  return v;
}

/// The layers of one format: pools full of rows.
class AttentionLayers {
 public:
  AttentionLayers(const AttentionShape& s, DType k, DType v, int rows, int layers, kernels::Backend& backend)
      : m_shape(s), m_format{s.kvHeads, s.headDim, k, v}, m_rows(rows), m_backend(backend), m_out(width()) {
    m_queries = someValues(width(), 1);
    m_slots.resize(static_cast<std::size_t>(rows));
    std::iota(m_slots.begin(), m_slots.end(), 0);
    m_tags.assign(m_slots.size(), 1);
    for (int layer = 0; layer < layers; ++layer) fill();
  }

  kernels::AttentionArgs args(std::size_t layer, const std::vector<float>& table) {
    return {.pool = m_pools[layer].data(),
            .fmt = m_format,
            .slots = m_slots.data(),
            .phaseIndex = m_slots.data(),
            .rows = m_rows,
            .rotaryTable = table.data(),
            .queries = m_queries.data(),
            .nQueries = 1,
            .queryHeads = m_shape.queryHeads,
            .rowBegin = &m_begin,
            .rowEnd = &m_rows,
            .scale = 1 / std::sqrt(static_cast<float>(m_shape.headDim)),
            .out = m_out.data()};
  }

  /// Seconds of a layer.
  double decode(const std::vector<float>& table) {
    const auto start = BenchClock::now();
    for (std::size_t layer = 0; layer < m_pools.size(); ++layer)
      m_backend.ops().attention(m_backend.context(), args(layer, table));
    return secondsSince(start) / static_cast<double>(m_pools.size());
  }

 private:
  std::size_t width() const {
    return static_cast<std::size_t>(m_shape.queryHeads) * static_cast<std::size_t>(m_shape.headDim);
  }

  void fill() {
    constexpr int kChunk = 512;
    const std::int64_t stride = kernels::rowLayout(m_format).stride;
    m_pools.emplace_back().allocate(m_backend, m_rows * stride);
    const auto values = static_cast<std::size_t>(m_shape.kvHeads * m_shape.headDim);
    const std::vector<float> k = someValues(kChunk * values, 2), v = someValues(kChunk * values, 3);
    for (int at = 0; at < m_rows; at += kChunk)
      m_backend.ops().writeRows(m_backend.context(),
                                {.pool = m_pools.back().data(),
                                 .fmt = m_format,
                                 .k = k.data(),
                                 .v = v.data(),
                                 .tags = m_tags.data(),
                                 .slots = m_slots.data() + at,
                                 .n = std::min(kChunk, m_rows - at)});
  }

  AttentionShape m_shape;
  kernels::RowFormat m_format;
  std::int32_t m_begin = 0, m_rows;
  kernels::Backend& m_backend;
  std::vector<float> m_queries, m_out;
  std::vector<std::int32_t> m_slots;
  std::vector<std::uint64_t> m_tags;
  std::vector<kernels::Array<std::uint8_t>> m_pools;
};

class AttentionBench {
 public:
  AttentionBench(const BenchOptions& options, const AttentionShape& shape, int rows, nlohmann::json& out)
      : m_shape(shape),
        m_rows(rows),
        m_runs(options.quick ? 3 : 15),
        m_backend(kernels::makeCpuBackend(threadsOf(options))),
        m_out(out) {
    const double pool = 4.0 * shape.kvHeads * shape.headDim * rows;  // bytes of the pool at two bytes a value
    m_layers = options.quick ? 1 : std::clamp(static_cast<int>(kColdBytes / pool), 1, shape.layers);
    m_table = someValues(static_cast<std::size_t>(rows) * static_cast<std::size_t>(shape.headDim), 4);
    m_case = std::string(shape.name) + ", depth " + std::to_string(rows) + ", " + std::to_string(threadsOf(options)) +
        " threads, ";
  }

  void against(DType baseK, DType baseV, DType k, DType v) {
    AttentionLayers base = layersOf(baseK, baseV), other = layersOf(k, v);
    std::vector<double> us, ratios;
    for (int run = 0; run < m_runs; ++run) {
      const double first = base.decode(m_table), second = other.decode(m_table);
      us.push_back(second * 1e6);
      ratios.push_back(second / first);
    }
    const double bytes = bytesOf(other), share = bytes / bytesOf(base), best = *std::min_element(us.begin(), us.end());
    const std::string what = m_case + nameOf(k, v);
    m_out.push_back(benchRow("attention", what, "time", "us", us));
    m_out.push_back(benchRow("attention", what, "bytes", "MB", {bytes * 1e-6}));
    m_out.push_back(benchRow("attention", what, "read", "GB/s", {bytes / best * 1e-3}));
    m_out.push_back(benchRow("attention", what, "bytes_to_" + nameOf(baseK, baseV), "x", {share}));
    m_out.push_back(benchRow("attention", what, "time_to_" + nameOf(baseK, baseV), "x", ratios));
  }

 private:
  static std::string nameOf(DType k, DType v) {
    return std::string(kernels::dtypeName(k)) + "/" + kernels::dtypeName(v);
  }
  AttentionLayers layersOf(DType k, DType v) { return {m_shape, k, v, m_rows, m_layers, *m_backend}; }
  double bytesOf(AttentionLayers& layers) const {
    return static_cast<double>(kernels::opBytes(layers.args(0, m_table)));
  }

  AttentionShape m_shape;
  int m_rows, m_runs, m_layers;
  std::unique_ptr<kernels::Backend> m_backend;
  nlohmann::json& m_out;
  std::vector<float> m_table;
  std::string m_case;
};

}  // namespace

Status benchAttention(const BenchOptions& options, nlohmann::json& rows) {
  constexpr AttentionShape kTiny{"4 heads of 16", 4, 2, 16, 1},
      kShapes[] = {{"tinyllama-1.1b", 32, 4, 64, 22}, {"7b", 32, 32, 128, 32}};
  const std::vector<AttentionShape> shapes = options.quick
      ? std::vector<AttentionShape>{kTiny}
      : std::vector<AttentionShape>(std::begin(kShapes), std::end(kShapes));
  for (const AttentionShape& shape : shapes)
    for (int depth : options.quick ? std::vector<int>{256} : std::vector<int>{8192, 32768}) {
      AttentionBench bench(options, shape, depth, rows);
      for (const auto& [k, v] : {std::pair{DType::f16, DType::f16},
                                 {DType::f16, DType::i8},
                                 {DType::i8, DType::i8},
                                 {DType::f16, DType::fp8e4m3}}) {
        if (!kernels::rowFormatSupported({shape.kvHeads, shape.headDim, k, v})) continue;
        say(std::string("attention: ") + shape.name);
        bench.against(DType::f16, DType::f16, k, v);
      }
    }
  return ok();
}

}  // namespace kvlab
