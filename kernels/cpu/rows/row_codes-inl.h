// SPDX-License-Identifier: Apache-2.0
// Values of rows on top of lanes-inl.h: heads of any row type read with their scale, rotated, and quantised
// (row_quant.h).
#if defined(KVLAB_ROW_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KVLAB_ROW_CODES_INL_H
#undef KVLAB_ROW_CODES_INL_H
#else
#define KVLAB_ROW_CODES_INL_H
#endif

#include "kernels/cpu/runtime/lanes-inl.h"
#include "kernels/row_quant.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

/// Values of E4M3 codes divided by kFp8Unit: as 16-bit floats, whose bias is 8 more, or in f32 where there are none.
#if KVLAB_SOFT_F16
constexpr float kFp8Unit = 1.0f;
#else
constexpr float kFp8Unit = 256.0f;
#endif

template <class D>
HWY_INLINE hn::Vec<D> loadFp8(D d, const uint8_t* from) {
#if KVLAB_SOFT_F16
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::PromoteTo(du, hn::LoadU(hn::Rebind<uint8_t, D>(), from));
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7fu));
  const auto sign = hn::ShiftLeft<24>(hn::Xor(bits, magnitude));
  const auto scaled = hn::Mul(hn::BitCast(d, hn::ShiftLeft<20>(magnitude)), hn::Set(d, 0x1p120f));
  const auto quiet = hn::IfThenElseZero(hn::Eq(hn::BitCast(di, magnitude), hn::Set(di, 0x7f)), hn::Set(di, 0x7fc00000));
  return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, scaled), sign), hn::BitCast(du, quiet)));
#else
  const hn::Rebind<int16_t, D> di16;
  const hn::Rebind<hwy::float16_t, D> dh;
  const auto wide = hn::PromoteTo(di16, hn::LoadU(hn::Rebind<int8_t, D>(), reinterpret_cast<const int8_t*>(from)));
  const auto half = hn::And(hn::ShiftLeft<7>(wide), hn::Set(di16, static_cast<int16_t>(0xbfff)));
  // Only the code of NaN carries into the highest bit of the exponent.
  const auto nan = hn::And(hn::Add(half, hn::Set(di16, int16_t{0x80})), hn::Set(di16, int16_t{0x4000}));
  return hn::PromoteTo(d, hn::BitCast(dh, hn::Or(half, nan)));
#endif
}

#if HWY_TARGET == HWY_AVX2
/// Converts 16 codes at once, which is less work per code.
HWY_INLINE void loadFp8Pair(const uint8_t* from, hn::Vec<hn::FixedTag<float, 8>>& low,
                            hn::Vec<hn::FixedTag<float, 8>>& high) {
  const hn::FixedTag<int16_t, 16> d16;
  const hn::FixedTag<float, 8> d;
  const hn::FixedTag<hwy::float16_t, 8> dh;
  const auto wide = hn::PromoteTo(d16, hn::LoadU(hn::FixedTag<int8_t, 16>(), reinterpret_cast<const int8_t*>(from)));
  const auto half = hn::And(hn::ShiftLeft<7>(wide), hn::Set(d16, static_cast<int16_t>(0xbfff)));
  const auto nan = hn::And(hn::Add(half, hn::Set(d16, int16_t{0x80})), hn::Set(d16, int16_t{0x4000}));
  const auto bits = hn::Or(half, nan);
  low = hn::PromoteTo(d, hn::BitCast(dh, hn::LowerHalf(bits)));
  high = hn::PromoteTo(d, hn::BitCast(dh, hn::UpperHalf(hn::FixedTag<int16_t, 8>(), bits)));
}
#endif

/// Reads values of one head of one row. `scale` points to its f32 and is left alone for types without one.
template <DType T, class D>
class HeadReader {
 public:
  HWY_INLINE HeadReader(D, const uint8_t*) {}
  HWY_INLINE hn::Vec<D> load(D d, const uint8_t* from) const { return loadAs<T>(d, from); }
};

HWY_INLINE float floatAt(const uint8_t* at) {
  float x;
  memcpy(&x, at, 4);
  return x;
}

template <class D>
class HeadReader<DType::i8, D> {
 public:
  HWY_INLINE HeadReader(D d, const uint8_t* scale) : m_scale(hn::Set(d, floatAt(scale))) {}
  HWY_INLINE hn::Vec<D> load(D d, const uint8_t* from) const { return hn::Mul(loadAs<DType::i8>(d, from), m_scale); }

 private:
  hn::Vec<D> m_scale;
};

/// A power of two moves from the code to the scale, which stays finite: the product is the same, rounded once.
template <class D>
class HeadReader<DType::fp8e4m3, D> {
 public:
  HWY_INLINE HeadReader(D d, const uint8_t* scale) : m_scale(hn::Set(d, floatAt(scale) * kFp8Unit)) {}
  HWY_INLINE hn::Vec<D> load(D d, const uint8_t* from) const { return hn::Mul(loadFp8(d, from), m_scale); }
#if HWY_TARGET == HWY_AVX2
  HWY_INLINE void loadPair(const uint8_t* from, hn::Vec<D>& low, hn::Vec<D>& high) const {
    loadFp8Pair(from, low, high);
    low = hn::Mul(low, m_scale);
    high = hn::Mul(high, m_scale);
  }
#endif

 private:
  hn::Vec<D> m_scale;
};

/// The registers at `from` and right behind it.
template <DType T>
HWY_INLINE void loadPair(const HeadReader<T, DF>& head, const uint8_t* from, VF& low, VF& high) {
#if HWY_TARGET == HWY_AVX2
  if constexpr (T == DType::fp8e4m3 && kLanes == 8) return head.loadPair(from, low, high);
#endif
  low = head.load(DF(), from);
  high = head.load(DF(), from + kLanes * dtypeBytes(T));
}

/// Calls fn with the type as a compile-time constant; other types do nothing.
template <class Fn>
HWY_INLINE void withRowType(DType t, const Fn& fn) {
  switch (t) {
    case DType::i8: return fn(std::integral_constant<DType, DType::i8>());
    case DType::fp8e4m3: return fn(std::integral_constant<DType, DType::fp8e4m3>());
    default: return withDType(t, fn);
  }
}

/// Calls fn(tag, i) for registers that cover [0, count): whole ones, and smaller ones for the rest.
template <class Fn>
HWY_INLINE void forHead(int64_t count, const Fn& fn) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) fn(DF(), i);
  const auto rest = [&](auto d) {
    const auto step = static_cast<int64_t>(hn::MaxLanes(d));
    if (i + step > count) return;
    fn(d, i);
    i += step;
  };
  if (i == count) return;
  rest(hn::CappedTag<float, 8>());
  rest(hn::CappedTag<float, 4>());
  rest(hn::CappedTag<float, 2>());
  rest(hn::CappedTag<float, 1>());
}

/// headDim values of type T -> f32.
template <DType T>
HWY_INLINE void readHead(const uint8_t* from, const uint8_t* scale, float* to, int64_t headDim) {
  forHead(headDim, [&](auto d, int64_t i) {
    hn::StoreU(HeadReader<T, decltype(d)>(d, scale).load(d, from + i * dtypeBytes(T)), d, to + i);
  });
}

/// The rotation of one head (ops/rope.h), shared by rope and by attention's read of keys so that both give equal bits:
/// lo' = lo cos - (hi sin), hi' = hi cos + (lo sin), the bracket rounded first.
/// from [headDim] of type T with its scale, to [headDim] f32 (may be the same memory when T is f32).
template <DType T>
HWY_INLINE void rotateHead(const uint8_t* from, const uint8_t* scale, const float* table, int64_t headDim, float* to) {
  constexpr int64_t kBytes = dtypeBytes(T);
  const int64_t half = headDim / 2;
  forHead(half, [&](auto d, int64_t i) {
    const HeadReader<T, decltype(d)> head(d, scale);
    const auto lo = head.load(d, from + i * kBytes);
    const auto hi = head.load(d, from + (i + half) * kBytes);
    const auto cosine = hn::LoadU(d, table + i);
    const auto sine = hn::LoadU(d, table + half + i);
    hn::StoreU(mulSub(lo, cosine, hn::Mul(hi, sine)), d, to + i);
    hn::StoreU(mulAdd(hi, cosine, hn::Mul(lo, sine)), d, to + half + i);
  });
  if (headDim % 2 == 0) return;
  const hn::CappedTag<float, 1> one;  // the value without a partner
  const HeadReader<T, decltype(one)> head(one, scale);
  hn::StoreU(head.load(one, from + 2 * half * kBytes), one, to + 2 * half);
}

/// Figures of a head's values before they are stored.
struct HeadScan {
  uint32_t amaxBits = 0;
  int64_t nonFinite = 0, overflows = 0;  ///< overflows: finite, but not below `limit`
};

/// limit: overflowBits() of the storage type.
HWY_INLINE HeadScan scanHead(const float* from, int64_t headDim, uint32_t limit) {
  HeadScan scan;
  forHead(headDim, [&](auto d, int64_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const auto magnitude = hn::And(hn::BitCast(di, hn::LoadU(d, from + i)), hn::Set(di, 0x7fffffff));
    const int64_t odd = static_cast<int64_t>(hn::CountTrue(di, hn::Gt(magnitude, hn::Set(di, 0x7f7fffff))));
    scan.nonFinite += odd;
    scan.overflows +=
        static_cast<int64_t>(hn::CountTrue(di, hn::Gt(magnitude, hn::Set(di, static_cast<int32_t>(limit - 1))))) - odd;
    scan.amaxBits = std::max(scan.amaxBits, static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(di, magnitude))));
  });
  return scan;
}

/// Codes of quotients: signed integers, or E4M3 without the sign.
template <DType T, class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> codesOf(D d, hn::Vec<D> quotient) {
  const hn::RebindToSigned<D> di;
  if constexpr (T == DType::i8) {
    const auto capped = hn::Min(hn::Max(quotient, hn::Set(d, -127.0f)), hn::Set(d, 127.0f));
    const float magic = 12582912.0f;  // 1.5 * 2^23: the last bits are the integer
    return hn::Sub(hn::BitCast(di, hn::Add(capped, hn::Set(d, magic))), hn::Set(di, 0x4b400000));
  } else {
    const auto bits = hn::BitCast(di, quotient);
    const auto magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
    const auto odd = hn::And(hn::ShiftRight<20>(magnitude), hn::Set(di, 1));
    const auto normal = hn::ShiftRight<20>(hn::Add(hn::Add(magnitude, odd), hn::Set(di, 0x7ffff - 0x3c000000)));
    const auto shifted = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0x1p14f));
    const auto small = hn::Sub(hn::BitCast(di, shifted), hn::Set(di, 0x46800000));
    const auto code = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x3c800000)), small, normal);
    return hn::Min(code, hn::Set(di, 0x7e));
  }
}

/// A head as codes with a finite scale. Counts codes at the largest magnitude, and finite inputs beyond it.
template <DType T>
HWY_INLINE void writeCodes(const float* from, float scale, uint8_t* to, int64_t headDim, int64_t& atMax,
                           int64_t& clipped) {
  forHead(headDim, [&](auto d, int64_t i) {
    using D = decltype(d);
    const hn::RebindToSigned<D> di;
    const auto quotient = hn::Div(hn::LoadU(d, from + i), hn::Set(d, scale));
    const auto code = codesOf<T>(d, quotient);
    const auto magnitude = hn::And(hn::BitCast(di, quotient), hn::Set(di, 0x7fffffff));
    clipped +=
        static_cast<int64_t>(hn::CountTrue(di, hn::Gt(magnitude, hn::Set(di, static_cast<int32_t>(clipBits(T))))));
    if constexpr (T == DType::i8) {
      atMax += static_cast<int64_t>(hn::CountTrue(di, hn::Eq(hn::Abs(code), hn::Set(di, 127))));
      hn::StoreU(hn::DemoteTo(hn::Rebind<int8_t, D>(), code), hn::Rebind<int8_t, D>(),
                 reinterpret_cast<int8_t*>(to + i));
    } else {
      atMax += static_cast<int64_t>(hn::CountTrue(di, hn::Eq(code, hn::Set(di, 0x7e))));
      const auto sign = hn::ShiftRight<24>(
          hn::And(hn::BitCast(hn::RebindToUnsigned<D>(), quotient), hn::Set(hn::RebindToUnsigned<D>(), 0x80000000u)));
      hn::StoreU(hn::DemoteTo(hn::Rebind<uint8_t, D>(), hn::Or(code, hn::BitCast(di, sign))), hn::Rebind<uint8_t, D>(),
                 to + i);
    }
  });
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // KVLAB_ROW_CODES_INL_H
