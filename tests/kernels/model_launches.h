// SPDX-License-Identifier: Apache-2.0
// Starts the kernels of a model's steps, whose shared memory, registers and grids follow from its sizes.
#pragma once

#include <QStringList>

#include <vector>

#include "kernels/cuda/runtime/module_api.h"
#include "model_sizes.h"

namespace kvlab::kernels::test {

inline constexpr DType kWeights[] = {DType::f32, DType::f16, DType::bf16, DType::i8};
inline constexpr DType kRows[] = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::fp8e4m3};
inline constexpr DType kBlocks[] = {DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                                    DType::q4_k, DType::q5_k, DType::q6_k, DType::mxfp4};
inline constexpr int64_t kMostOutputs = 16'384;  // more than enough for every warp of a device

/// Wider than any of the models.
inline constexpr ModelSizes kWideSizes[] = {{"k 16384", 16384, 32768, 128, 8, 128, 131072},
                                            {"k 32768", 32768, 32768, 256, 8, 128, 131072}};

/// Starts what a model starts, and notes what is refused. Addresses: of nothing where launches are only checked, else
/// of so much memory that any step fits, of short contexts and few outputs.
class Launches {
 public:
  Launches(const CudaApi& api, void* memory, bool onlyChecked)
      : m_api(api), m_at(static_cast<std::byte*>(memory)), m_long(onlyChecked) {}

  void model(const ModelSizes& s) {
    for (const DType type : kWeights) {
      for (int64_t m = 1; m <= 9; ++m) layer(s, type, m);
      if (m_long)
        for (const int64_t prompt : {512, 4096}) layer(s, type, prompt);
    }
    for (const DType type : kBlocks)
      if (m_long && s.hidden % dtypeBlock(type).values == 0)
        for (const int64_t m : {1, 8, 9, 4096}) matmul(s, type, m, s.hidden, s.intermediate);
    for (const DType type : kRows) {
      for (const int64_t queries : {1, 2, 16, 17, 200}) attention(s, type, queries, 300, false);
      if (!m_long) continue;
      for (const int64_t queries : {1, 8, 16, 17, 4096}) attention(s, type, queries, 131'072, false);
      for (const int64_t queries : {1, 17}) attention(s, type, queries, 131'072, true);
    }
    gates(s);
    if (m_long) rows(s);
  }

  int64_t made = 0;
  QStringList refused;

 private:
  enum Behind { nothing, residual, gate };
  int64_t clipped(int64_t n) const { return m_long ? n : std::min(n, kMostOutputs); }
  float* floats() const { return reinterpret_cast<float*>(m_at); }

  void note(const ModelSizes& s, const QString& what, int32_t error) {
    ++made;
    if (error) refused << QString("%1, %2: %3").arg(s.name, what, m_api.errorText(error));
  }

  void layer(const ModelSizes& s, DType type, int64_t m) {
    const int64_t q = s.heads * s.headDim, kv = s.kvHeads * s.headDim;
    linear(s, type, m, s.hidden, {q, kv, kv}, nothing);
    linear(s, type, m, q, {s.hidden}, residual);
    linear(s, type, m, s.hidden, {s.intermediate, s.intermediate}, gate);
    linear(s, type, m, s.intermediate, {s.hidden}, residual);
    linear(s, type, m, s.hidden, {s.vocab}, nothing);
    matmul(s, type, m, s.hidden, s.intermediate);
  }

  void linear(const ModelSizes& s, DType type, int64_t m, int64_t k, const std::vector<int64_t>& outputs,
              Behind behind) {
    LinearArgs a{.x = floats(), .m = m, .normed = floats()};
    if (behind != residual) a.normWeight = m_at;
    for (const int64_t n : outputs) a.parts[a.nParts++] = {{m_at, type, floats(), clipped(n), k}, nullptr, floats()};
    if (behind != nothing) a.out = floats();
    if (behind == residual) a.residual = floats();
    note(s, QString("linear, %1, %2 rows, k %3").arg(dtypeName(type)).arg(m).arg(k), m_api.linear(nullptr, a));
  }

  void matmul(const ModelSizes& s, DType type, int64_t m, int64_t k, int64_t n) {
    note(s, QString("matmul, %1, %2 rows").arg(dtypeName(type)).arg(m),
         m_api.matmul(nullptr, {.x = floats(), .w = {m_at, type, floats(), clipped(n), k}, .y = floats(), .m = m}));
  }

  const int32_t* ints() const { return reinterpret_cast<const int32_t*>(m_at); }

  void attention(const ModelSizes& s, DType type, int64_t queries, int64_t context, bool masses) {
    AttentionArgs a{.pool = reinterpret_cast<const uint8_t*>(m_at),
                    .fmt = {static_cast<int32_t>(s.kvHeads), static_cast<int32_t>(s.headDim), type, type},
                    .slots = ints(),
                    .phaseIndex = ints(),
                    .rows = context,
                    .rotaryTable = floats(),
                    .queries = floats(),
                    .nQueries = queries,
                    .queryHeads = static_cast<int32_t>(s.heads),
                    .rowBegin = ints(),
                    .rowEnd = ints(),
                    .out = floats(),
                    .scratch = m_at};
    if (masses) {
      a.mass = {.newest = floats(), .newestPerHead = floats(), .received = floats(), .receivedPerHead = floats()};
      a.mass.lastAbove = reinterpret_cast<int32_t*>(m_at);
      a.queryIndex = ints();
    }
    const QString what = QString("attention, %1, %2 queries of %3 rows").arg(dtypeName(type)).arg(queries).arg(context);
    note(s, what, m_api.attention(nullptr, a));
    note(s, what + ", fast", m_api.attentionFast(nullptr, a));
  }

  void gates(const ModelSizes& s) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16})
      for (const int64_t n : {1, 5}) {
        GateMlpArgs a{.x = floats(), .n = n, .kvHeads = static_cast<int32_t>(s.kvHeads), .out = floats()};
        for (int stage = 0; stage < kGateStages; ++stage) {
          a.w[stage] = gateWeight(stage, static_cast<int32_t>(s.headDim), kGateHiddenMax, type, m_at);
          a.b[stage] = floats();
        }
        note(s, QString("gates, %1").arg(dtypeName(type)), m_api.gateMlp(nullptr, a));
      }
  }

  /// What is done with rows of a context and with logits.
  void rows(const ModelSizes& s) {
    const auto kvHeads = static_cast<int32_t>(s.kvHeads), headDim = static_cast<int32_t>(s.headDim);
    const auto* tags = reinterpret_cast<const uint64_t*>(m_at);
    auto* pool = reinterpret_cast<uint8_t*>(m_at);
    const RowFormat format{kvHeads, headDim, DType::f16, DType::i8};
    note(s, "rope",
         m_api.rope(nullptr,
                    {.x = floats(),
                     .phaseIndex = ints(),
                     .table = floats(),
                     .n = 131'072,
                     .heads = static_cast<int32_t>(s.heads),
                     .headDim = headDim}));
    note(s, "reorder",
         m_api.reorder(nullptr, {.x = floats(), .order = ints(), .n = 131'072, .heads = kvHeads, .headDim = headDim}));
    note(s, "rmsnorm",
         m_api.rmsnorm(nullptr, {.x = floats(), .weight = m_at, .y = floats(), .rows = 131'072, .dim = s.hidden}));
    note(s, "writeRows",
         m_api.writeRows(
             nullptr,
             {.pool = pool, .fmt = format, .k = floats(), .v = floats(), .tags = tags, .slots = ints(), .n = 131'072}));
    note(s, "gatherRows",
         m_api.gatherRows(nullptr, {.pool = pool, .fmt = format, .slots = ints(), .n = 131'072, .k = floats()}));
    note(s, "verifyRows",
         m_api.verifyRows(
             nullptr, {.pool = pool, .fmt = format, .slots = ints(), .tags = tags, .n = 131'072, .verdicts = pool}));
    note(s, "softmax", m_api.softmax(nullptr, {.x = floats(), .n = s.vocab, .out = floats()}));
    note(s, "topk",
         m_api.topk(nullptr, {.x = floats(), .n = s.vocab, .k = s.vocab, .indices = reinterpret_cast<int32_t*>(m_at)}));
    note(s, "argmax", m_api.argmax(nullptr, {.x = floats(), .n = s.vocab, .index = reinterpret_cast<int64_t*>(m_at)}));
  }

  const CudaApi& m_api;
  std::byte* m_at;
  bool m_long;
};

}  // namespace kvlab::kernels::test
