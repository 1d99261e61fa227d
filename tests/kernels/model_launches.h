// SPDX-License-Identifier: Apache-2.0
// Starts every kernel whose shared memory follows from the sizes of a model.
#pragma once

#include <QStringList>

#include <vector>

#include "kernels/cuda/runtime/module_api.h"
#include "model_sizes.h"

namespace kvlab::kernels::test {

inline constexpr DType kWeights[] = {DType::f32, DType::f16, DType::bf16, DType::i8};
inline constexpr DType kRows[] = {DType::f32, DType::f16, DType::bf16, DType::i8, DType::fp8e4m3};
inline constexpr int64_t kMostOutputs = 16'384;  // more than enough for every warp of a device

/// Addresses: of nothing where launches are only checked, else of so much memory that any step fits.
class Launches {
 public:
  Launches(const CudaApi& api, void* memory) : m_api(api), m_at(static_cast<std::byte*>(memory)) {}

  void model(const ModelSizes& s) {
    const int64_t q = s.heads * s.headDim, kv = s.kvHeads * s.headDim;
    for (const DType type : kWeights)
      for (int64_t m = 1; m <= 9; ++m) {
        linear(s, type, m, s.hidden, {q, kv, kv}, nothing);
        linear(s, type, m, q, {s.hidden}, residual);
        linear(s, type, m, s.hidden, {s.intermediate, s.intermediate}, gate);
        linear(s, type, m, s.intermediate, {s.hidden}, residual);
        linear(s, type, m, s.hidden, {std::min(s.vocab, kMostOutputs)}, nothing);
        matmul(s, type, m, s.hidden, s.intermediate);
      }
    for (const DType type : kRows)
      for (const int64_t queries : {1, 2, 16, 17, 200}) attention(s, type, queries);
    gates(s);
  }

  int64_t made = 0;
  QStringList refused;

 private:
  enum Behind { nothing, residual, gate };
  float* floats() const { return reinterpret_cast<float*>(m_at); }

  void note(const ModelSizes& s, const QString& what, int32_t error) {
    ++made;
    if (error) refused << QString("%1, %2: %3").arg(s.name, what, m_api.errorText(error));
  }

  void linear(const ModelSizes& s, DType type, int64_t m, int64_t k, const std::vector<int64_t>& outputs,
              Behind behind) {
    LinearArgs a{.x = floats(), .m = m, .normed = floats()};
    if (behind != residual) a.normWeight = m_at;
    for (const int64_t n : outputs)
      a.parts[a.nParts++] = {{m_at, type, floats(), std::min(n, kMostOutputs), k}, nullptr, floats()};
    if (behind != nothing) a.out = floats();
    if (behind == residual) a.residual = floats();
    note(s, QString("linear, %1, %2 rows, k %3").arg(dtypeName(type)).arg(m).arg(k), m_api.linear(nullptr, a));
  }

  void matmul(const ModelSizes& s, DType type, int64_t m, int64_t k, int64_t n) {
    note(s, QString("matmul, %1, %2 rows").arg(dtypeName(type)).arg(m),
         m_api.matmul(
             nullptr,
             {.x = floats(), .w = {m_at, type, floats(), std::min(n, kMostOutputs), k}, .y = floats(), .m = m}));
  }

  void attention(const ModelSizes& s, DType type, int64_t queries) {
    const auto* ints = reinterpret_cast<const int32_t*>(m_at);
    AttentionArgs a{.pool = reinterpret_cast<const uint8_t*>(m_at),
                    .fmt = {static_cast<int32_t>(s.kvHeads), static_cast<int32_t>(s.headDim), type, type},
                    .slots = ints,
                    .phaseIndex = ints,
                    .rows = 300,
                    .rotaryTable = floats(),
                    .queries = floats(),
                    .nQueries = queries,
                    .queryHeads = static_cast<int32_t>(s.heads),
                    .rowBegin = ints,
                    .rowEnd = ints,
                    .out = floats(),
                    .scratch = m_at};
    const QString what = QString("attention, %1, %2 queries").arg(dtypeName(type)).arg(queries);
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

  const CudaApi& m_api;
  std::byte* m_at;
};

}  // namespace kvlab::kernels::test
