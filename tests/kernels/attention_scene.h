// SPDX-License-Identifier: Apache-2.0
// A row pool, its residency map and queries for the attention tests, with a reference in f64.
#pragma once
#include <QMetaType>

#include <algorithm>
#include <cmath>

#include "kernels/ops/attention.h"
#include "kernels/ops/row_ops.h"
#include "kernels/thread_pool.h"
#include "support.h"

namespace kvlab::kernels::test {

struct Shape {
  int32_t queryHeads, kvHeads, headDim;
  DType type = DType::f32;
  float cap = 0.0f;
  bool sinks = false;
};

/// Rows in a pool, their residency map and a causal set of queries, one per row.
struct Scene {
  Shape shape;
  int64_t rows;
  RowFormat fmt;
  std::vector<float> k, v, queries, table, sinks;
  std::vector<int32_t> slots, phases, begin, end;
  std::vector<uint8_t> pool;
  bool rotated = false;
  int64_t base = 0;
  float scale;

  Scene(Shape s, int64_t n, uint64_t seed = 1) : shape(s), rows(n), fmt{s.kvHeads, s.headDim, s.type, s.type} {
    Random r(seed + static_cast<uint64_t>(s.headDim));
    k = r.values(n * s.kvHeads * s.headDim, 2);
    v = r.values(n * s.kvHeads * s.headDim, 2);
    queries = r.values(n * s.queryHeads * s.headDim, 2);
    if (s.sinks) sinks = r.values(s.queryHeads, 3);
    scale = 1.0f / std::sqrt(static_cast<float>(s.headDim));
    for (int32_t i = 0; i < n; ++i) {
      slots.push_back(i);
      phases.push_back(i + i / 3);
      begin.push_back(0);
      end.push_back(i + 1);
    }
    makeTable(n + n / 3 + 2);
    write();
  }

  void makeTable(int64_t count) {
    const int half = shape.headDim / 2;
    for (int64_t p = 0; p < count; ++p) {
      for (const bool sine : {false, true}) {
        for (int i = 0; i < half; ++i) {
          const double angle = static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(i) / half);
          table.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
  }

  void write() {
    const RowLayout o = rowLayout(fmt);
    pool.assign(static_cast<size_t>((rows + 1) * o.stride), 0xff);
    std::vector<uint64_t> tags(static_cast<size_t>(rows), 1);
    ThreadPool threads(1);
    writeRows({&threads},
              {.pool = pool.data(),
               .fmt = fmt,
               .k = k.data(),
               .v = v.data(),
               .tags = tags.data(),
               .slots = slots.data(),
               .n = rows});
  }

  AttentionArgs args() const {
    return {.pool = pool.data(),
            .fmt = fmt,
            .keysRotated = rotated,
            .slots = slots.data(),
            .phaseIndex = phases.data(),
            .rows = rows,
            .indexBase = base,
            .rotaryTable = table.data(),
            .queries = queries.data(),
            .nQueries = rows,
            .queryHeads = shape.queryHeads,
            .rowBegin = begin.data(),
            .rowEnd = end.data(),
            .scale = scale,
            .cap = shape.cap,
            .sinks = shape.sinks ? sinks.data() : nullptr};
  }
  int64_t width() const { return int64_t{shape.queryHeads} * shape.headDim; }
};

/// The scene with f32 rows that hold the values of its own rows.
inline Scene meant(const Scene& s) {
  Scene plain = s;
  plain.fmt.k = plain.fmt.v = DType::f32;
  ThreadPool threads(1);
  gatherRows({&threads},
             {.pool = s.pool.data(),
              .fmt = s.fmt,
              .slots = s.slots.data(),
              .n = s.rows,
              .k = plain.k.data(),
              .v = plain.v.data()});
  plain.write();
  return plain;
}

inline std::vector<float> run(AttentionArgs a, int threads = 1) {
  ThreadPool pool(threads);
  std::vector<float> out(static_cast<size_t>(a.nQueries * a.queryHeads * a.fmt.headDim), NAN);
  a.out = out.data();
  attention({&pool}, a);
  return out;
}

inline std::vector<float> run(const Scene& s, int threads = 1) { return run(s.args(), threads); }

/// Only queries [q0, q1) of a call.
inline AttentionArgs slice(AttentionArgs a, int64_t q0, int64_t q1) {
  a.queries += q0 * a.queryHeads * a.fmt.headDim;
  a.rowBegin += q0;
  a.rowEnd += q0;
  a.nQueries = q1 - q0;
  return a;
}

/// The same in f64 by the textbook; mass [queries, heads, rows].
struct Reference {
  std::vector<double> out, mass;

  explicit Reference(const Scene& s) {
    std::vector<float> k, v;
    encode(s.k, s.shape.type, &k);
    encode(s.v, s.shape.type, &v);
    for (int64_t q = 0; q < s.rows; ++q) {
      for (int64_t h = 0; h < s.shape.queryHeads; ++h) attend(s, k, v, q, h);
    }
  }

  static double key(const Scene& s, const std::vector<float>& k, int64_t row, int64_t head, int64_t i) {
    const int64_t d = s.shape.headDim, half = d / 2;
    const float* x = k.data() + (row * s.shape.kvHeads + head) * d;
    if (s.rotated) return double{x[i]};
    if (i == 2 * half) return double{x[i]};  // without a partner
    const float* t = s.table.data() + s.phases[static_cast<size_t>(row)] * 2 * half;
    if (i < half) return double{x[i]} * double{t[i]} - double{x[i + half]} * double{t[i + half]};
    return double{x[i]} * double{t[i - half]} + double{x[i - half]} * double{t[i]};
  }

  void attend(const Scene& s, const std::vector<float>& k, const std::vector<float>& v, int64_t q, int64_t h) {
    const int64_t d = s.shape.headDim, kvHead = h / (s.shape.queryHeads / s.shape.kvHeads);
    const float* query = s.queries.data() + (q * s.shape.queryHeads + h) * d;
    const int64_t begin = s.begin[static_cast<size_t>(q)], end = s.end[static_cast<size_t>(q)];
    std::vector<double> p(static_cast<size_t>(s.rows), 0.0), o(static_cast<size_t>(d), 0.0);
    double largest = -INFINITY, sum = 0;
    for (int64_t j = begin; j < end; ++j) {
      double dot = 0;
      for (int64_t i = 0; i < d; ++i) dot += double{query[i]} * key(s, k, j, kvHead, i);
      const double score = dot * double{s.scale}, cap = double{s.shape.cap};
      p[static_cast<size_t>(j)] = cap == 0 ? score : cap * std::tanh(score / cap);
      largest = std::max(largest, p[static_cast<size_t>(j)]);
    }
    for (int64_t j = begin; j < end; ++j)
      sum += p[static_cast<size_t>(j)] = std::exp(p[static_cast<size_t>(j)] - largest);
    if (s.shape.sinks && end > begin) sum += std::exp(double{s.sinks[static_cast<size_t>(h)]} - largest);
    for (int64_t j = begin; j < end; ++j) {
      p[static_cast<size_t>(j)] /= sum;
      for (int64_t i = 0; i < d; ++i)
        o[static_cast<size_t>(i)] +=
            p[static_cast<size_t>(j)] * double{v[static_cast<size_t>((j * s.shape.kvHeads + kvHead) * d + i)]};
    }
    out.insert(out.end(), o.begin(), o.end());
    mass.insert(mass.end(), p.begin(), p.end());
  }
};

inline constexpr Shape kShapes[] = {{1, 1, 16},
                                    {4, 2, 24},
                                    {8, 1, 64},
                                    {6, 3, 40},
                                    {4, 4, 128},
                                    {2, 1, 256},
                                    {2, 1, 512},
                                    {3, 3, 328, DType::f16},
                                    {4, 2, 64, DType::bf16},
                                    {4, 2, 80, DType::f16},
                                    {6, 2, 48, DType::f16},
                                    {5, 1, 32, DType::bf16},
                                    {4, 2, 64, DType::f32, 0.4f},
                                    {6, 2, 48, DType::f16, 2.0f},
                                    {8, 2, 64, DType::bf16, 0.0f, true},
                                    {3, 1, 24, DType::f32, 0.0f, true},
                                    {4, 1, 256, DType::f16, 0.5f, true},
                                    {4, 1, 256, DType::f16},
                                    {4, 2, 12},
                                    {6, 2, 20, DType::f16},
                                    {2, 2, 4, DType::bf16},
                                    {2, 1, 2},
                                    {2, 1, 1},
                                    {3, 3, 66, DType::f16},
                                    {6, 2, 84, DType::bf16},
                                    {4, 1, 116, DType::f16, 0.5f, true},
                                    {2, 1, 508},
                                    {4, 2, 9},
                                    {6, 3, 21, DType::f16},
                                    {6, 2, 256, DType::bf16}};

}  // namespace kvlab::kernels::test

Q_DECLARE_METATYPE(kvlab::kernels::test::Shape)
