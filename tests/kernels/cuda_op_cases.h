// SPDX-License-Identifier: Apache-2.0
// The calls that cuda_ops_test compares: every op, every type, shapes at and beside the borders of its kernels.
#pragma once

#include <numeric>

#include "cuda_block_cases.h"
#include "cuda_rig.h"
#include "row_pool_fixture.h"

namespace kvlab::kernels::test {

inline constexpr DType kValueTypes[] = {DType::f32, DType::f16, DType::bf16};

/// Values with zeros of both signs, infinities, subnormals and NaN among them.
inline std::vector<float> oddValues(int64_t n) {
  std::vector<float> v = Random(static_cast<uint64_t>(n)).values(n, 100000.0f);
  const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 6e-8f, 65519.9f, 65520.0f, 3e38f};
  for (size_t i = 0; i < v.size(); i += 3) v[i] = i % 2 ? v[i] * 1e-6f : odd[i % std::size(odd)];
  return v;
}

/// Rows of odd values, rows of zeros, rows of finite values large and small.
inline std::vector<float> rowsOfEveryKind(int64_t n, int64_t width) {
  std::vector<float> v = oddValues(n * width);
  for (int64_t i = 0; i < n * width; ++i) {
    float& x = v[static_cast<size_t>(i)];
    const int64_t kind = i / width % 4;
    if (kind == 1) x = 0.0f;
    if (kind > 1) x = (std::isfinite(x) ? std::fmod(x, 3.0f) : -0.4f) * (kind == 2 ? 1.0f : 1e30f);
  }
  return v;
}

inline constexpr const char* kFunctionNames[] = {"silu", "gelu", "clamped silu"};

inline void addPointwise(std::vector<OpCase>& all) {
  for (const DType t : kValueTypes)
    for (const int64_t n : {1, 255, 3000}) {
      all.push_back({"convert", std::string("f32 to ") + dtypeName(t), textOf({n}), [=](Rig& r) {
                       KVLAB_RUN(r, convert,
                                 ConvertArgs{r.in(oddValues(n)), DType::f32, r.out<uint8_t>(n * dtypeBytes(t)), t, n});
                     }});
      all.push_back({"convert", std::string(dtypeName(t)) + " to f32", textOf({n}), [=](Rig& r) {
                       KVLAB_RUN(
                           r, convert,
                           ConvertArgs{r.inShifted(encode(oddValues(n), t), 2), t, r.out<float>(n), DType::f32, n});
                     }});
    }
  for (const int64_t n : {1, 257, 5000}) {
    all.push_back(
        {"add", "f32", textOf({n}), [=](Rig& r) {
           KVLAB_RUN(r, add, AddArgs{r.in(Random(1).values(n)), r.in(Random(2).values(n)), r.out<float>(n), n});
         }});
    for (const int64_t rows : {1, 3})
      for (const GateFunction f : {GateFunction::silu, GateFunction::geluTanh, GateFunction::clampedSilu})
        all.push_back({"swiglu", kFunctionNames[static_cast<int>(f)], textOf({rows, n}), [=](Rig& r) {
                         const auto gate = r.in(Random(3).values(rows * (n + 5), 120)),
                                    up = r.in(Random(4).values(rows * n));
                         KVLAB_RUN(r, swiglu, SwigluArgs{gate, up, r.out<float>(rows * n), rows, n, n + 5, 0, f});
                       }});
    all.push_back({"softcap", "f32", textOf({n}), [=](Rig& r) {
                     KVLAB_RUN(r, softcap, SoftcapArgs{r.inOut(Random(16).values(n, 90)), n, 30.0f});
                   }});
  }
}

inline void addExperts(std::vector<OpCase>& all) {
  for (const int32_t experts : {1, 4, 130})
    for (const int32_t top : {1, std::min(experts, 3), std::min(experts, 8)})
      for (const bool normalised : {true, false})
        all.push_back({"route", normalised ? "normalised" : "of all", textOf({5, experts, top}), [=](Rig& r) {
                         std::vector<float> scores = Random(17).values(5 * experts, 4);
                         if (experts > 1) scores[1] = scores[0];  // a tie
                         if (experts > 3) scores[static_cast<size_t>(experts) + 2] = -INFINITY;
                         KVLAB_RUN(r, route,
                                   RouteArgs{r.in(scores), 5, experts, top, normalised, r.out<int32_t>(5 * top),
                                             r.out<float>(5 * top)});
                       }});
  for (const int64_t dim : {1, 64, 700}) {
    all.push_back({"takeRows", "f32", textOf({3, dim}), [=](Rig& r) {
                     KVLAB_RUN(r, takeRows,
                               TakeRowsArgs{r.in(Random(18).values(5 * dim)), r.in(std::vector<int32_t>{4, 0, 4}),
                                            r.out<float>(3 * dim), 3, dim});
                   }});
    all.push_back({"mixRows", "f32", textOf({3, dim}), [=](Rig& r) {
                     const auto y = r.in(Random(19).values(3 * dim));
                     const auto rows = r.in(std::vector<int32_t>{4, 0, 2});
                     const auto weights = r.in(std::vector<float>{0.3f, -1.7f, 0.0f});
                     KVLAB_RUN(r, mixRows, MixRowsArgs{y, rows, weights, r.inOut(Random(20).values(5 * dim)), 3, dim});
                   }});
  }
}

inline void addRowWise(std::vector<OpCase>& all) {
  for (const DType t : kValueTypes) {
    for (const int64_t dim : {8, 100, 1030})
      for (const float scale : {1.0f, 32.1f})
        all.push_back({"embedding", dtypeName(t), textOf({5, dim}), [=](Rig& r) {
                         const auto table = r.inShifted(encode(Random(5).values(9 * dim), t), scale == 1.0f ? 0 : 1);
                         KVLAB_RUN(r, embedding,
                                   EmbeddingArgs{table, t, r.in(std::vector<int32_t>{8, 0, 3, 3, 7}),
                                                 r.out<float>(5 * dim), 5, dim, scale});
                       }});
    for (const int64_t dim : {1, 16, 127, 576, 4100, 9000})
      for (const int64_t rows : {1, 3})
        all.push_back({"rmsnorm", dtypeName(t), textOf({rows, dim}), [=](Rig& r) {
                         RmsnormArgs a{.x = r.in(Random(6).values(rows * (dim + 3))),
                                       .weight = r.inShifted(encode(Random(7).values(dim), t), 1),
                                       .weightType = t,
                                       .weightOffset = 0.25f,
                                       .y = r.out<float>(rows * (dim + 1)),
                                       .rows = rows,
                                       .dim = dim,
                                       .xStride = dim + 3,
                                       .yStride = dim + 1};
                         KVLAB_RUN(r, rmsnorm, a);
                       }});
  }
  for (const int32_t headDim : {9, 12, 16, 24, 128})
    for (const int32_t heads : {1, 5})
      all.push_back({"rope", "f32", textOf({3, heads, headDim}), [=](Rig& r) {
                       const int64_t stride = heads * headDim + 7;
                       KVLAB_RUN(r, rope,
                                 RopeArgs{r.inOut(Random(8).values(3 * stride)), r.in(std::vector<int32_t>{4, 0, 2}),
                                          r.in(Random(9).values(5 * headDim)), 3, heads, headDim, stride});
                     }});
}

inline void addReorder(std::vector<OpCase>& all) {
  for (const int32_t headDim : {16, 21, 24, 512})
    for (const int32_t heads : {1, 5})
      all.push_back({"reorder", "f32", textOf({3, heads, headDim}), [=](Rig& r) {
                       const int64_t stride = heads * headDim + 7;
                       std::vector<int32_t> order;
                       for (int32_t i = 0; i < headDim; ++i) order.push_back((i * 5 + 3) % headDim);
                       KVLAB_RUN(
                           r, reorder,
                           ReorderArgs{r.inOut(Random(17).values(3 * stride)), r.in(order), 3, heads, headDim, stride});
                     }});
}

inline void addReductions(std::vector<OpCase>& all) {
  for (const int64_t n : {1, 17, 511, 4096, 9001}) {
    const auto values = [=](uint64_t seed) {  // ties, both zeros, NaN and infinities among them
      std::vector<float> v = Random(seed).values(n, 20);
      for (size_t i = 0; i < v.size(); i += 5) v[i] = i % 3 ? std::round(v[i]) : i % 2 ? -0.0f : 0.0f;
      return v;
    };
    for (const bool odd : {false, true}) {
      all.push_back({"argmax", "f32", textOf({n}) + (odd ? " odd" : ""), [=](Rig& r) {
                       KVLAB_RUN(r, argmax, ArgmaxArgs{r.in(odd ? oddValues(n) : values(10)), n, r.out<int64_t>(1)});
                     }});
      for (const int64_t k : {int64_t{1}, std::min<int64_t>(n, 40), std::min<int64_t>(n, 5000)})
        all.push_back({"topk", "f32", textOf({n, k}) + (odd ? " odd" : ""), [=](Rig& r) {
                         const auto x = r.in(odd ? oddValues(n) : values(11));
                         KVLAB_RUN(r, topk, TopkArgs{x, n, k, r.out<int32_t>(k), odd ? nullptr : r.out<float>(k)});
                       }});
    }
    all.push_back({"argmax", "f32", textOf({n}) + " NaN", [=](Rig& r) {
                     KVLAB_RUN(r, argmax,
                               ArgmaxArgs{r.in(std::vector<float>(static_cast<size_t>(n), NAN)), n, r.out<int64_t>(1)});
                   }});
    all.push_back({"softmax", "f32", textOf({n}), [=](Rig& r) {
                     std::vector<float> x = values(12);
                     if (n > 1) x[1] = -INFINITY;
                     KVLAB_RUN(r, softmax, SoftmaxArgs{r.in(x), n, 0.7f, r.out<float>(n)});
                   }});
  }
  for (const int64_t dim : {1, 8, 37, 512})
    for (const int64_t n : {1, 9})
      all.push_back(
          {"diffRows", "f32", textOf({n, dim}), [=](Rig& r) {
             std::vector<float> a = Random(13).values(n * dim), b = Random(14).values(n * dim);
             if (n > 4)
               for (int64_t i = 0; i < dim; ++i) {
                 const auto at = [=](int64_t row) { return static_cast<size_t>(row * dim + i); };
                 a[at(0)] = b[at(0)] = 0, b[at(1)] = 0, a[at(2)] = 0, a[at(3)] = b[at(3)], a[at(4)] = -b[at(4)];
               }
             KVLAB_RUN(r, diffRows,
                       DiffRowsArgs{r.in(a), r.in(b), n, dim, r.out<double>(n), r.out<double>(n), r.out<double>(n)});
           }});
}

inline void addRows(std::vector<OpCase>& all) {
  for (const RowFormat& f : kFormats) {
    const std::string type = std::string(dtypeName(f.k)) + "/" + dtypeName(f.v);
    const auto pool = std::make_shared<Pool>(f, 40);
    all.push_back({"writeRows", type, textOf({37, pool->width()}), [=](Rig& r) {
                     const std::vector<float> k = rowsOfEveryKind(37, pool->width() + 2),
                                              v = rowsOfEveryKind(37, pool->width());
                     const WriteRowsArgs a{
                         .pool = r.inOut(std::vector<uint8_t>(pool->bytes.size(), 0xee)),
                         .fmt = f,
                         .k = r.in(k),
                         .v = r.in(v),
                         .tags = r.in(pool->tags),
                         .slots = r.in(pool->slots),
                         .n = 37,
                         .kStride = pool->width() + 2,
                         .stats = r.inOut(std::vector<WriteRowsStats>{{.k = {.nonFinite = 5}, .v = {.clipped = 7}}})};
                     KVLAB_RUN(r, writeRows, a);
                   }});
    const auto moves = [&all, type, pool, f](std::string what, bool apart, std::vector<RowMove> list) {
      int64_t rows = 0;
      for (const RowMove& m : list) rows += m.count;
      for (const int64_t told : {int64_t{0}, rows})
        all.push_back({"moveRows", type, what + (told > 0 ? ", rows told" : ""), [=](Rig& r) {
                         const auto from = r.in(pool->bytes),
                                    to = apart ? r.inOut(std::vector<uint8_t>(pool->bytes.size(), 9)) : from;
                         const auto watched = apart ? nullptr : r.inOut(pool->bytes);
                         KVLAB_RUN(r, moveRows,
                                   MoveRowsArgs{apart ? from : watched, apart ? to : watched, f, r.in(list),
                                                std::ssize(list), told});
                       }});
    };
    moves("onto itself", false, {{3, 5, 20}, {9, 2, 25}, {7, 7, 4}, {0, 1, 39}});
    moves("a chain", false,
          {{1, 2, 1}, {2, 3, 1}, {3, 1, 1}, {4, 3, 1}, {5, 6, 0}, {3, 30, 1}, {30, 31, 2}, {31, 4, 1}});
    moves("to another pool", true, {{3, 5, 20}, {9, 2, 25}, {7, 7, 4}, {0, 6, 1}, {1, 6, 1}});
    moves("up by one", false, {{0, 1, 44}});
    moves("down by one", false, {{1, 0, 44}});
    moves("both ways", false, {{10, 12, 20}, {4, 0, 6}, {38, 33, 7}});
    moves("apart in one pool", false, {{0, 20, 9}, {10, 30, 9}, {3, 40, 4}});
    std::vector<RowMove> many;
    for (Random x(15); many.size() < 60;) {
      const auto from = static_cast<int32_t>(x.below(40)), to = static_cast<int32_t>(x.below(40));
      many.push_back({from, to, static_cast<int32_t>(x.below(41 - std::max(from, to)))});
    }
    moves("many", false, many);
    std::vector<RowMove> single;  // more than a block looks at together
    for (Random x(16); single.size() < 600;)
      single.push_back({static_cast<int32_t>(x.below(45)), static_cast<int32_t>(x.below(45)), 1});
    moves("600 rows", false, single);
    moves("600 rows to another pool", true, single);
    all.push_back({"verifyRows", type, "40", [=](Rig& r) {
                     std::vector<uint8_t> bytes = pool->bytes;
                     for (const size_t at : {100u, 1000u, 2000u}) bytes[at] ^= 8;
                     const VerifyRowsArgs a{r.in(bytes),      f,  r.in(pool->slots),
                                            r.in(pool->tags), 40, r.out<uint8_t>(40),
                                            r.out<int64_t>(1)};
                     KVLAB_RUN(r, verifyRows, a);
                   }});
    for (const bool few : {false, true})
      all.push_back({"readScales", type, few ? "40, V alone" : "40", [=](Rig& r) {
                       ReadScalesArgs a{r.in(pool->bytes), f, r.in(pool->slots), 40};
                       a.v = r.out<float>(40 * f.kvHeads);
                       a.kAtMax = few ? nullptr : r.out<int32_t>(40);
                       a.k = few ? nullptr : r.out<float>(40 * f.kvHeads);
                       a.vAtMax = r.out<int32_t>(40);
                       KVLAB_RUN(r, readScales, a);
                     }});
    all.push_back({"rowNorms", type, "37", [=](Rig& r) {
                     KVLAB_RUN(
                         r, rowNorms,
                         RowNormsArgs{r.in(pool->bytes), f, r.in(pool->slots), 37, r.out<float>(37), r.out<float>(37)});
                   }});
    all.push_back({"gatherRows", type, "40", [=](Rig& r) {
                     const int64_t n = 40 * pool->width();
                     KVLAB_RUN(
                         r, gatherRows,
                         GatherRowsArgs{r.in(pool->bytes), f, r.in(pool->slots), 40, r.out<float>(n), r.out<float>(n)});
                   }});
  }
}

/// A pool of more rows than a block has under way: steps follow each other.
inline void addLongMoves(std::vector<OpCase>& all) {
  const auto pool = std::make_shared<Pool>(kFormats[0], 700);
  const std::vector<std::pair<const char*, std::vector<RowMove>>> lists = {
      {"700 rows up by one", {{0, 1, 700}}},
      {"700 rows down by three", {{3, 0, 700}}},
      {"a third rolled", {{240, 0, 460}, {0, 470, 230}, {100, 333, 300}}}};
  for (const auto& [what, list] : lists)
    for (const int64_t told : {0, 700})
      all.push_back(
          {"moveRows", "f32/f32", std::string(what) + (told > 0 ? ", rows told" : ""), [=](Rig& r) {
             uint8_t* records = r.inOut(pool->bytes);
             KVLAB_RUN(r, moveRows, MoveRowsArgs{records, records, pool->fmt, r.in(list), std::ssize(list), told});
           }});
}

inline const float* scalesOf(Rig& r, DType t, int64_t outputs) {
  return dtypeHasScale(t) ? r.in(Random(23).values(outputs)) : nullptr;
}
inline constexpr DType kWeightTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8};

/// Rows of x and y lie apart; the first rows of a call must not depend on how many there are.
inline void addMatmul(std::vector<OpCase>& all) {
  const auto one = [&all](DType t, int64_t m, int64_t n, int64_t k, int64_t apart, size_t shift, bool bias) {
    all.push_back({"matmul", dtypeName(t), textOf({m, n, k}), [=](Rig& r) {
                     const auto w = r.inShifted(encode(Random(21).values(n * k), t), shift);
                     const MatmulArgs a{.x = r.in(Random(20).values(m * (k + apart))),
                                        .w = {w, t, scalesOf(r, t, n), n, k},
                                        .bias = bias ? r.in(Random(22).values(n)) : nullptr,
                                        .y = r.out<float>(m * (n + apart)),
                                        .m = m,
                                        .xStride = apart ? k + apart : 0,
                                        .yStride = apart ? n + apart : 0};
                     KVLAB_RUN(r, matmul, a);
                   }});
  };
  for (const DType t : kWeightTypes) {
    for (const int64_t m : {1, 2, 3, 5, 8, 9, 33})
      for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {17, 16}, {33, 527}, {65, 600}, {40, 1600}})
        one(t, m, n, k, m % 2 ? 4 : 3, k % 2 ? 2 : 0, n > 20);
    one(t, 1, 3, 0, 0, 0, true);
    one(t, 70, 130, 256, 0, 0, false);
  }
}

struct LinearCase {
  DType type;
  int64_t m, k;
  std::vector<int64_t> n;  ///< n of each matrix
  bool norm = false, bias = false;
  enum Behind { nothing, gate, residual } behind = nothing;
  size_t shift = 0;  ///< offset of the weights from a border
};

/// Values of a case come from seeds: x 50, norm 51, matrices from 52, biases from 60, residual 70.
inline LinearArgs linearArgs(Rig& r, const LinearCase& c) {
  const auto scratch = [&r](int64_t count) { return r.in(std::vector<float>(static_cast<size_t>(count), 55.0f)); };
  LinearArgs a;
  a.x = c.shift ? r.in(Random(50).values(c.m * c.k + 1)) + 1 : r.in(Random(50).values(c.m * c.k));
  a.m = c.m;
  if (c.norm) {
    a.normType = dtypeHasScale(c.type) ? DType::bf16 : c.type;
    a.normWeight = r.inShifted(encode(Random(51).values(c.k), a.normType), c.shift);
    a.normOffset = 0.5f;
    a.normed = scratch(c.m * c.k);
  }
  for (size_t i = 0; i < c.n.size(); ++i) {
    const int64_t n = c.n[i];
    const auto w = r.inShifted(encode(Random(52 + i).values(n * c.k), c.type), c.shift);
    float* y = c.behind == LinearCase::nothing ? r.out<float>(c.m * n) : scratch(c.m * n);
    a.parts[a.nParts++] = {
        {w, c.type, scalesOf(r, c.type, n), n, c.k}, c.bias && i != 1 ? r.in(Random(60 + i).values(n)) : nullptr, y};
  }
  if (c.behind == LinearCase::residual) a.residual = a.out = r.inOut(Random(70).values(c.m * c.n[0]));
  if (c.behind == LinearCase::gate) a.out = r.out<float>(c.m * c.n[0]);
  return a;
}

inline void callLinear(Rig& r, const LinearCase& c) {
  const LinearArgs a = linearArgs(r, c);
  KVLAB_RUN(r, linear, a);
}

/// Every form of a linear step; rows of x up to and beyond the limit of one kernel, k beside its tiles, units
/// that are not full, more units than warps.
inline void addLinear(std::vector<OpCase>& all) {
  const auto one = [&all](const LinearCase& c) {
    constexpr const char* kBehind[] = {"", ", gate", ", residual"};
    std::string shape = textOf({c.m, c.k});
    for (const int64_t n : c.n) shape.append(", ").append(std::to_string(n));
    shape.append(c.norm ? ", norm" : "")
        .append(c.bias ? ", bias" : "")
        .append(kBehind[c.behind])
        .append(c.shift ? ", anywhere" : "");
    all.push_back({"linear", dtypeName(c.type), shape, [c](Rig& r) { callLinear(r, c); }});
  };
  for (const DType t : kWeightTypes) {
    for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
      const int64_t k = m % 2 ? 272 : 600;
      one({t, m, k, {37, 9, 5}, true, true});
      one({t, m, k + 1, {19}, false, m % 3 == 0, LinearCase::residual, m % 2 ? 0u : 2u});
      one({t, m, 64, {11, 11}, true, false, LinearCase::gate});
    }
    for (const int64_t k : {1, 16, 576, 1030}) {
      one({t, 1, k, {1, 3, 2}, true, true});
      one({t, 1, k, {7, 7}, false, true, LinearCase::gate, 1});
    }
    one({t, 1, 256, {230}, true});
    one({t, 1, 48, {150, 70, 33}, false, true});
    one({t, 1, 528, {130, 130}, true, false, LinearCase::gate});
    one({t, 8, 40, {210}, false, true, LinearCase::residual});
    one({t, 1, 4096, {5}, true});
    one({t, 2, 14336, {5}, false, false, LinearCase::residual});
  }
}

/// x does not fit into shared memory, and parts of several types: step by step.
inline void addLinearInSteps(std::vector<OpCase>& all) {
  all.push_back({"linear", "f32", "too large", [](Rig& r) {
                   callLinear(r, {DType::f32, 8, 7000, {3}, true, true, LinearCase::residual});
                 }});
  all.push_back({"linear", "mixed", "2 x 24", [](Rig& r) {
                   LinearArgs a{.x = r.in(Random(80).values(48)), .m = 2, .nParts = 2};
                   const auto part = [&r](uint64_t seed, DType t, int64_t n) {
                     const Weight w{r.in(encode(Random(seed).values(n * 24), t)), t, nullptr, n, 24};
                     return LinearPart{w, nullptr, r.out<float>(2 * n)};
                   };
                   a.parts[0] = part(81, DType::f16, 5);
                   a.parts[1] = part(82, DType::bf16, 6);
                   KVLAB_RUN(r, linear, a);
                 }});
}

/// Gates of several layers; rows and layers lie apart; weights beside their borders; NaN and infinities.
inline void addGates(std::vector<OpCase>& all) {
  const auto one = [&all](DType t, int64_t n, int32_t layers, int32_t heads, int32_t headDim, int32_t hidden,
                          size_t shift, bool odd) {
    all.push_back({"gateMlp", dtypeName(t),
                   textOf({n, layers, heads, headDim, hidden}) + (shift ? " anywhere" : "") + (odd ? " odd" : ""),
                   [=](Rig& r) {
                     const int64_t width = heads * headDim + 3, gates = layers * heads;
                     std::vector<float> x = Random(90).values(layers * n * width, 3);
                     if (odd) x[1] = NAN, x[static_cast<size_t>(n * width / 2)] = INFINITY, x[x.size() - 5] = -INFINITY;
                     GateMlpArgs a{.x = r.in(x), .n = n, .layers = layers, .kvHeads = heads, .xStride = width};
                     for (int s = 0; s < kGateStages; ++s) {
                       const auto seed = static_cast<uint64_t>(91 + s);
                       Weight& w = a.w[s] = gateWeight(s, headDim, hidden, t);
                       w.data = r.inShifted(encode(Random(seed).values(gates * w.n * w.k, 0.4f), t), shift);
                       a.b[s] = r.in(Random(seed + 10).values(gates * w.n));
                     }
                     a.outStride = heads + 2;
                     a.out = r.out<float>(layers * n * a.outStride);
                     KVLAB_RUN(r, gateMlp, a);
                   }});
  };
  for (const DType t : kValueTypes) {
    for (const int64_t n : {1, 2, 4, 5, 61}) one(t, n, n == 2 ? 3 : 1, 2, n % 2 ? 64 : 48, 32, 0, n == 5);
    one(t, 1, 2, 1, 128, 256, 0, false);
    one(t, 1, 2, 3, 24, 20, t == DType::f32 ? 4 : 2, false);
    one(t, 6, 1, 3, 8, 37, 1, true);
    one(t, 1, 1, 1, 16, 16, 0, true);
  }
  one(DType::bf16, 3, 1, 1, 64, 1024, 0, false);
  one(DType::f32, 1, 1, 1, 64, 1024, 0, false);
}

inline std::vector<OpCase> opCases() {
  std::vector<OpCase> all;
  addPointwise(all);
  addExperts(all);
  addRowWise(all);
  addReorder(all);
  addReductions(all);
  addMatmul(all);
  addLinear(all);
  addLinearInSteps(all);
  addBlocks(all);
  addGates(all);
  addRows(all);
  addLongMoves(all);
  return all;
}

}  // namespace kvlab::kernels::test
