// SPDX-License-Identifier: Apache-2.0
// Rows of weights of any type as f32. Types in blocks give the bits of readBlocks() (block_codes.h).
#if defined(KVLAB_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_WEIGHTS_INL_H
#undef KVLAB_WEIGHTS_INL_H
#else
#define KVLAB_WEIGHTS_INL_H
#endif

#include "kernels/cpu/linear/block_units-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// block::half() in one instruction where there is one.
HWY_INLINE float halfOf(const uint8_t* at) {
#if HWY_TARGET == HWY_AVX3
  uint16_t bits;
  memcpy(&bits, at, 2);
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
#else
  return block::half(at);
#endif
}

/// The scale and the least value of each unit of a block.
template <DType T>
HWY_INLINE void readUnits(const uint8_t* from, float* scale, float* least) {
  using namespace block;
  if constexpr (T == DType::mxfp4) {
    scale[0] = halfPower(from[0]);
  } else if constexpr (T == DType::q6_k) {
    const float d = halfOf(from + 208);
    for (int s = 0; s < 16; ++s) scale[s] = d * static_cast<float>(static_cast<int8_t>(from[192 + s]));
  } else if constexpr (T == DType::q4_k || T == DType::q5_k) {
    const float d = halfOf(from), m = halfOf(from + 2);
    uint8_t packed[16];
    unpackScales(from + 4, packed);
    for (int s = 0; s < 8; ++s) {
      scale[s] = d * static_cast<float>(packed[s]);
      least[s] = -(m * static_cast<float>(packed[8 + s]));
    }
  } else {
    scale[0] = halfOf(from);
    if constexpr (BlockUnits<T>::kLeast) least[0] = halfOf(from + 2);
  }
}

template <DType T>
HWY_INLINE void widenBlock(const uint8_t* from, float* to) {
  using Units = BlockUnits<T>;
  constexpr int64_t kValues = dtypeBlock(T).values, kCount = kValues / Units::kUnit;
  const DF d;
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<uint8_t, DF> du;
  alignas(64) uint8_t codes[kValues];
  float scale[kCount], least[kCount] = {};
  readCodes<T>(from, codes);
  readUnits<T>(from, scale, least);
  for (int64_t i = 0; i < kValues; i += kLanes) {
    const auto code = hn::Sub(hn::PromoteTo(di, hn::LoadU(du, codes + i)), hn::Set(di, Units::kOffset));
    VF value = hn::Mul(hn::Set(d, scale[i / Units::kUnit]), hn::ConvertTo(d, code));
    if constexpr (Units::kLeast) value = hn::Add(value, hn::Set(d, least[i / Units::kUnit]));
    hn::StoreU(value, d, to + i);
  }
}

/// The values of a row or of a part of it, a multiple of a block.
template <DType T>
HWY_INLINE void widenBlocks(const uint8_t* from, float* to, int64_t count) {
  constexpr DTypeBlock kBlock = dtypeBlock(T);
  constexpr int64_t kComing = 2048;  // bytes: memory answers while so many are widened
  for (int64_t i = 0; i < count; i += kBlock.values, from += kBlock.bytes) {
    KVLAB_UNROLL for (int64_t line = 0; line < kBlock.bytes; line += 64) prefetchFar(from + kComing + line);
    widenBlock<T>(from, to + i);
  }
}

/// A row of plain values or of blocks; `count` is a multiple of a block.
HWY_INLINE void readWeights(DType type, const uint8_t* from, float* to, int64_t count) {
  withDType(type, [&](auto t) { readRow<t()>(from, to, count); });
  withBlockType(type, [&](auto t) { widenBlocks<t()>(from, to, count); });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_WEIGHTS_INL_H
