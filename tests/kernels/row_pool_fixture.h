// SPDX-License-Identifier: Apache-2.0
// A pool of row records with random content for the row tests.
#pragma once

#include "kernels/ops/row_ops.h"
#include "kernels/thread_pool.h"
#include "support.h"

namespace kvlab::kernels::test {

inline constexpr RowFormat kFormats[] = {
    {2, 16, DType::f32, DType::f32},    {1, 24, DType::f16, DType::bf16},    {4, 64, DType::bf16, DType::bf16},
    {3, 40, DType::f32, DType::f16},    {8, 128, DType::f16, DType::f16},    {3, 24, DType::i8, DType::fp8e4m3},
    {4, 64, DType::f16, DType::i8},     {1, 40, DType::fp8e4m3, DType::f32}, {5, 16, DType::i8, DType::i8},
    {3, 12, DType::i8, DType::fp8e4m3}, {3, 9, DType::f16, DType::i8},       {2, 66, DType::bf16, DType::f16},
    {3, 1, DType::fp8e4m3, DType::f32}};

/// A pool with n rows written to shuffled slots.
struct Pool {
  RowFormat fmt;
  RowLayout layout;
  int64_t n;
  std::vector<float> k, v;
  std::vector<uint64_t> tags;
  std::vector<int32_t> slots;
  std::vector<uint8_t> bytes;
  ThreadPool threads{2};
  Context context{&threads};

  Pool(RowFormat f, int64_t rows) : fmt(f), layout(rowLayout(f)), n(rows) {
    Random r(static_cast<uint64_t>(rows + f.headDim));
    k = r.values(n * width(), 3);
    v = r.values(n * width(), 3);
    for (int64_t i = 0; i < n; ++i) {
      tags.push_back((uint64_t{r.bits()} << 32) | r.bits());
      slots.push_back(static_cast<int32_t>((i * 11 + 3) % (n + 5)));
    }
    bytes.assign(static_cast<size_t>((n + 5) * layout.stride), 0xee);
    writeRows(context,
              {.pool = bytes.data(),
               .fmt = fmt,
               .k = k.data(),
               .v = v.data(),
               .tags = tags.data(),
               .slots = slots.data(),
               .n = n});
  }
  int64_t width() const { return int64_t{fmt.kvHeads} * fmt.headDim; }
  uint8_t* record(int64_t slot) { return bytes.data() + slot * layout.stride; }

  int64_t bad(std::vector<uint8_t>* verdicts = nullptr) {
    std::vector<uint8_t> local(static_cast<size_t>(n));
    int64_t count = -1;
    verifyRows(context,
               {.pool = bytes.data(),
                .fmt = fmt,
                .slots = slots.data(),
                .tags = tags.data(),
                .n = n,
                .verdicts = local.data(),
                .bad = &count});
    if (verdicts) *verdicts = local;
    return count;
  }
};

}  // namespace kvlab::kernels::test
