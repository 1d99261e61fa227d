// SPDX-License-Identifier: Apache-2.0
// The words that a dot product multiplies: values widened to f32, or pairs of bf16. A register of words adds to a
// register of lanes, so tiles and streams are written once for all kinds of words.
#if defined(KVLAB_DOT_VALUES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_DOT_VALUES_INL_H
#undef KVLAB_DOT_VALUES_INL_H
#else
#define KVLAB_DOT_VALUES_INL_H
#endif

#include "kernels/cpu/linear/weights-inl.h"
#include "kernels/cpu/runtime/targets.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// Weights of type T, widened to f32; x stays as it is.
template <DType T>
struct Widened {
  static constexpr DType kType = T;
  static constexpr int64_t kValues = 1;              ///< in a word
  static constexpr int64_t kStored = dtypeBytes(T);  ///< bytes of a word of weights in memory
  static constexpr bool kPacksX = false;             ///< true: words of x differ from the caller's values
  using Word = float;
  using Panel = Widened<DType::f32>;  ///< the words of a panel of these weights
  using Vec = VF;

  static HWY_INLINE Vec load(const Word* from) { return hn::LoadU(DF(), from); }
  static HWY_INLINE Vec loadStored(const uint8_t* from) { return loadAs<T>(DF(), from); }
  static HWY_INLINE void keep(Vec& v) { KVLAB_KEEP(v); }
  static HWY_INLINE VF add(Vec x, Vec w, VF sum) { return mulAdd(x, w, sum); }
  /// kLanes words of x.
  static HWY_INLINE void pack(const float* from, Word* to) { hn::StoreU(hn::LoadU(DF(), from), DF(), to); }
  /// k stored weights to a row of a panel.
  static HWY_INLINE void unpack(const uint8_t* from, int64_t k, Word* to) { readRow<T>(from, to, k); }
};

/// Weights in blocks (block_codes.h), widened to f32 row by row. Streams of few rows widen them before.
template <DType T>
struct InBlocks {
  static constexpr DType kType = T;
  static constexpr int64_t kValues = 1;
  static constexpr bool kPacksX = false;
  using Word = float;
  using Panel = Widened<DType::f32>;

  static HWY_INLINE void pack(const float* from, Word* to) { Panel::pack(from, to); }
  static HWY_INLINE void unpack(const uint8_t* from, int64_t k, Word* to) { widenBlocks<T>(from, to, k); }
};

/// Weights in bf16 as they are stored, x rounded to bf16. A lane takes the odd value of a word, then the even
/// one, each in one rounding: the order of VDPBF16PS.
struct PairWords {
  static constexpr DType kType = DType::bf16;
  static constexpr int64_t kValues = 2, kStored = 4;
  static constexpr bool kPacksX = true;
  using Word = uint32_t;

  static HWY_INLINE void pack(const float* from, Word* to) {
    auto* bytes = reinterpret_cast<uint8_t*>(to);
    storeAs<DType::bf16>(DF(), hn::LoadU(DF(), from), bytes);
    storeAs<DType::bf16>(DF(), hn::LoadU(DF(), from + kLanes), bytes + 2 * kLanes);
  }
  static HWY_INLINE void unpack(const uint8_t* from, int64_t k, Word* to) {
    if (k % 2) to[k / 2] = 0;
    memcpy(to, from, static_cast<size_t>(2 * k));
  }
};

struct SplitPairs : PairWords {
  using Panel = SplitPairs;
  struct Vec {
    VF odd, even;
  };

  static HWY_INLINE Vec loadStored(const uint8_t* from) {
    const hn::RebindToUnsigned<DF> du;
    const auto words = hn::LoadU(du, reinterpret_cast<const uint32_t*>(from));
    return {hn::BitCast(DF(), hn::And(words, hn::Set(du, 0xffff0000u))), hn::BitCast(DF(), hn::ShiftLeft<16>(words))};
  }
  static HWY_INLINE Vec load(const Word* from) { return loadStored(reinterpret_cast<const uint8_t*>(from)); }
  static HWY_INLINE void keep(Vec& v) {
    KVLAB_KEEP(v.odd);
    KVLAB_KEEP(v.even);
  }
  static HWY_INLINE VF add(Vec x, Vec w, VF sum) { return mulAdd(x.even, w.even, mulAdd(x.odd, w.odd, sum)); }
};

#if HWY_TARGET == HWY_AVX3
/// AVX512-BF16, which Highway has no target for; whoever comes here has asked for it (cpu/linear/native_bf16.h).
struct NativePairs : PairWords {
  using Panel = NativePairs;
  using Vec = VF;

  static HWY_INLINE Vec loadStored(const uint8_t* from) {
    return hn::LoadU(DF(), reinterpret_cast<const float*>(from));
  }
  static HWY_INLINE Vec load(const Word* from) { return loadStored(reinterpret_cast<const uint8_t*>(from)); }
  static HWY_INLINE void keep(Vec& v) { KVLAB_KEEP(v); }
  static HWY_INLINE VF add(Vec x, Vec w, VF sum) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
    return sum;
  }
};
#endif

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_DOT_VALUES_INL_H
