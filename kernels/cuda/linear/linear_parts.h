// SPDX-License-Identifier: Apache-2.0
// Cuts a linear step of few rows into units. A unit holds the output rows of one warp at a time, and one count
// runs through the units of all matrices. In a gated step a unit holds the same rows of both matrices.
#pragma once

#include <algorithm>

#include "kernels/cuda/linear/matmul_parts.h"
#include "kernels/ops/linear.h"

namespace kvlab::kernels::cuda {

template <DType T, int kM>
struct LinearShape {
  static constexpr int kValueBytes = static_cast<int>(dtypeBytes(T));
  static constexpr int kPerGroup = kM >= 4 ? 2 : 1;                        ///< output rows of eight threads
  static constexpr int kRows = 4 * kPerGroup;                              ///< rows of weights in a unit
  static constexpr int kRowBytes = 512, kDepth = kRowBytes / kValueBytes;  ///< weight row in a tile: bytes, values
  static constexpr int kRowStride = kRowBytes + 16 * kValueBytes;          ///< four rows lie in different banks
  static constexpr int kTileBytes = kRows * kRowStride;
  static constexpr int kStages = kM >= 4 ? 4 : 6;
  static constexpr int kRingBytes = kStages * kTileBytes;       ///< bytes of a warp's ring
  static constexpr int kFactorBytes = (4 * kM + 15) / 16 * 16;  ///< a factor of the norm for each row
  static constexpr int kUnroll = kM >= 4 ? 2 : 8;               ///< steps of 16 values
  static constexpr int kMostWarps = 8;
};

struct LinearPlan {
  int32_t units = 0, ends[2] = {};  ///< units of all matrices; ends of the first and the second
  int32_t warps = 0;                ///< warps of a block; 0: the device's shared memory is too small
  int32_t xStride = 0;              ///< floats of a row of x in shared memory: k up to a multiple of 16
  int64_t sharedBytes = 0;          ///< all that the kernel uses
  bool gated = false, wAligned = true, xAligned = true;
};

inline bool isGated(const LinearArgs& a) { return a.out && !a.residual; }

template <DType T, int kM>
LinearPlan linearPlan(const LinearArgs& a, const DeviceShape& device) {
  using S = LinearShape<T, kM>;
  LinearPlan plan{.gated = isGated(a), .xAligned = startsAt16(a.x, a.k() * 4)};
  const int64_t rows = plan.gated ? S::kRows / 2 : S::kRows;
  for (int i = 0; i < a.nParts; ++i) {
    plan.wAligned = plan.wAligned && startsAt16(a.parts[i].w.data, a.k() * S::kValueBytes);
    if (!plan.gated || i == 0) plan.units += static_cast<int32_t>((a.parts[i].w.n + rows - 1) / rows);
    if (i < 2) plan.ends[i] = plan.units;
  }
  plan.xStride = static_cast<int32_t>((a.k() + 15) / 16 * 16);
  const int64_t fixed = S::kFactorBytes + int64_t{4} * kM * plan.xStride,
                room = (device.sharedLimit - fixed) / S::kRingBytes;
  const int64_t wanted = (plan.units + device.multiprocessors - 1) / std::max<int64_t>(device.multiprocessors, 1);
  const auto most = std::min<int64_t>(room, S::kMostWarps);
  plan.warps = most > 0 ? static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, most)) : 0;
  plan.sharedBytes = fixed + plan.warps * S::kRingBytes;
  return plan;
}

/// Computes up to kFewRows rows, k > 0, all matrices of type T, in one kernel. False where that does not fit;
/// then nothing has started. `error` receives 0 or a CUDA error.
template <DType T>
bool linearFew(void* stream, const LinearArgs&, int32_t* error);

}  // namespace kvlab::kernels::cuda
