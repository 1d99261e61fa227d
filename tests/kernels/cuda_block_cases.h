// SPDX-License-Identifier: Apache-2.0
// The calls on weights in blocks that cuda_ops_test compares: every type, rows that start anywhere, shapes at and
// beside the borders of the kernels.
#pragma once

#include "block_bytes.h"
#include "cuda_rig.h"

namespace kvlab::kernels::test {

inline std::string textOf(std::initializer_list<int64_t> sizes) {
  std::string text;
  for (const int64_t s : sizes) text += (text.empty() ? "" : " x ") + std::to_string(s);
  return text;
}

inline void addBlockRows(std::vector<OpCase>& all, DType t) {
  for (const int64_t n : {256, 6144})
    all.push_back(
        {"convert", std::string(dtypeName(t)) + " to f32", textOf({n}), [=](Rig& r) {
           KVLAB_RUN(r, convert, ConvertArgs{r.inShifted(blocksOf(t, n, 3), 1), t, r.out<float>(n), DType::f32, n});
         }});
  for (const float scale : {1.0f, 32.1f})
    all.push_back({"embedding", dtypeName(t), textOf({4, 768}), [=](Rig& r) {
                     const auto table = r.inShifted(blocksOf(t, 9 * 768, 5), scale == 1.0f ? 0 : 1);
                     KVLAB_RUN(r, embedding,
                               EmbeddingArgs{table, t, r.in(std::vector<int32_t>{8, 0, 3, 7}), r.out<float>(4 * 768), 4,
                                             768, scale});
                   }});
}

inline void addBlockProducts(std::vector<OpCase>& all, DType t) {
  const int64_t odd = dtypeBlock(t).values == 32 ? 608 : 768;  // 19 blocks: half a tile is left
  for (const int64_t m : {1, 2, 4, 5, 8, 9, 33})
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 256}, {17, odd}, {70, 512}})
      all.push_back({"matmul", dtypeName(t), textOf({m, n, k}), [=, n = n, k = k](Rig& r) {
                       const int64_t apart = m % 2 ? 3 : 0;
                       const MatmulArgs a{.x = r.in(Random(20).values(m * (k + apart))),
                                          .w = {r.inShifted(blocksOf(t, n * k, 7), m % 2), t, nullptr, n, k},
                                          .bias = n > 20 ? r.in(Random(22).values(n)) : nullptr,
                                          .y = r.out<float>(m * (n + apart)),
                                          .m = m,
                                          .xStride = k + apart,
                                          .yStride = n + apart};
                       KVLAB_RUN(r, matmul, a);
                     }});
}

/// A norm, two matrices of different types and a gate, as files of mixed types need them.
inline void addBlockSteps(std::vector<OpCase>& all, DType t) {
  for (const int64_t m : {1, 10})
    all.push_back({"linear", dtypeName(t), textOf({m, 256}) + ", norm, gate", [=](Rig& r) {
                     LinearArgs a{.x = r.in(Random(80).values(m * 256)),
                                  .m = m,
                                  .normWeight = r.in(Random(81).values(256)),
                                  .normed = r.in(std::vector<float>(static_cast<size_t>(m * 256))),
                                  .nParts = 2};
                     for (int i = 0; i < 2; ++i) {
                       const DType type = i ? DType::q8_0 : t;
                       a.parts[i] = {{r.in(blocksOf(type, 12 * 256, 82)), type, nullptr, 12, 256},
                                     nullptr,
                                     r.in(std::vector<float>(static_cast<size_t>(m * 12)))};
                     }
                     a.out = r.out<float>(m * 12);
                     KVLAB_RUN(r, linear, a);
                   }});
}

inline void addBlocks(std::vector<OpCase>& all) {
  for (const DType t : kBlockTypes) {
    addBlockRows(all, t);
    addBlockProducts(all, t);
    addBlockSteps(all, t);
  }
}

}  // namespace kvlab::kernels::test
