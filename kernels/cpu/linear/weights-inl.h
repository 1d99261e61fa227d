// SPDX-License-Identifier: Apache-2.0
// Rows of weights of any type as f32.
#if defined(KVLAB_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_WEIGHTS_INL_H
#undef KVLAB_WEIGHTS_INL_H
#else
#define KVLAB_WEIGHTS_INL_H
#endif

#include "kernels/block_codes.h"
#include "kernels/cpu/runtime/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// A row of plain values or of blocks; `count` is a multiple of a block.
HWY_INLINE void readWeights(DType type, const uint8_t* from, float* to, int64_t count) {
  withDType(type, [&](auto t) { readRow<t()>(from, to, count); });
  withBlockType(type, [&](auto t) { readBlocks<t()>(from, to, count); });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_WEIGHTS_INL_H
