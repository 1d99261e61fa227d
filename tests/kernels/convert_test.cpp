// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "kernels/ops/convert.h"
#include "kernels/scalar_convert.h"
#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class ConvertTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void halfIsExactForAllValues();
  void floatToHalfRoundsToNearestEven();
  void bf16RoundsToNearestEven();
  void bulkEqualsScalar_data();
  void bulkEqualsScalar();
};

namespace {

/// binary16 by its definition, in f64.
double halfByDefinition(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  const double sign = h & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  return exponent ? sign * std::ldexp(1024 + mantissa, exponent - 25) : sign * std::ldexp(mantissa, -24);
}

/// Nearest binary16 by search among all of one sign; ties go to the even pattern.
uint16_t nearestHalf(float x) {
  if (std::isnan(x)) return 0x7e00;
  const double magnitude = std::fabs(double{x});
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (magnitude >= 65520) return sign | 0x7c00;
  uint16_t low = 0, high = 0x7bff;
  while (low < high) {
    const auto middle = static_cast<uint16_t>((low + high + 1) / 2);
    if (halfByDefinition(middle) <= magnitude) low = middle;
    else high = static_cast<uint16_t>(middle - 1);
  }
  if (low == 0x7bff) return sign | low;
  const double below = magnitude - halfByDefinition(low),
               above = halfByDefinition(static_cast<uint16_t>(low + 1)) - magnitude;
  const bool up = above < below || (above == below && (low & 1));
  return static_cast<uint16_t>(sign | (up ? low + 1 : low));
}

std::vector<float> awkwardFloats() {
  std::vector<float> v = {0.0f,         -0.0f,        INFINITY,        -INFINITY, 65504,      65519.996f,      65520,
                          -65520,       1e30f,        0x1p-24f,        0x1p-25f,  0x1.8p-25f, 0x1.000002p-25f, 0x1p-14f,
                          0x1.ffcp-15f, 0x1.ffep-15f, 0x1.fffffep-15f, 0x1p-126f, 0x1p-149f};
  for (int h = 0; h < 0x7bff; ++h) {  // every value, every midpoint and its neighbours
    const double a = halfByDefinition(static_cast<uint16_t>(h)), b = halfByDefinition(static_cast<uint16_t>(h + 1));
    const auto middle = static_cast<float>((a + b) / 2);
    for (float x : {static_cast<float>(a), middle, std::nextafterf(middle, 0), std::nextafterf(middle, 1e9f)}) {
      v.push_back(x);
      v.push_back(-x);
    }
  }
  return v;
}

}  // namespace

void ConvertTest::halfIsExactForAllValues() {
  for (int i = 0; i < 65536; ++i) {
    const auto h = static_cast<uint16_t>(i);
    const double want = halfByDefinition(h);
    const float got = halfToFloat(h);
    if (std::isnan(want)) {
      QVERIFY(std::isnan(got));
    } else {
      QCOMPARE(double{got}, want);
      QCOMPARE(std::signbit(got), std::signbit(want));
      QCOMPARE(floatToHalf(got), h);
    }
  }
}

void ConvertTest::floatToHalfRoundsToNearestEven() {
  for (float x : awkwardFloats()) QCOMPARE(floatToHalf(x), nearestHalf(x));
  QVERIFY((floatToHalf(NAN) & 0x7fff) > 0x7c00);
}

void ConvertTest::bf16RoundsToNearestEven() {
  for (uint32_t upper = 0; upper < 0x7f80; ++upper) {
    const uint32_t bits = upper << 16;
    const auto at = [&](uint32_t low) { return floatToBf16(std::bit_cast<float>(bits | low)); };
    QCOMPARE(uint32_t{at(0)}, upper);
    QCOMPARE(uint32_t{at(0x7fff)}, upper);
    QCOMPARE(uint32_t{at(0x8000)}, upper + (upper & 1));
    QCOMPARE(uint32_t{at(0x8001)}, upper + 1);
    QCOMPARE(uint32_t{floatToBf16(-std::bit_cast<float>(bits | 0x8001))}, (upper + 1) | 0x8000);
  }
  QVERIFY(std::isnan(bf16ToFloat(floatToBf16(std::bit_cast<float>(0x7f800001u)))));
  QCOMPARE(bf16ToFloat(floatToBf16(INFINITY)), INFINITY);
}

void ConvertTest::bulkEqualsScalar_data() {
  QTest::addColumn<qint64>("target");
  for (const int64_t t : fusedTargets()) QTest::newRow(hwy::TargetName(t)) << qint64{t};
  if (hwy::SupportedTargets() & HWY_SSE4) QTest::newRow("SSE4") << qint64{HWY_SSE4};
}

void ConvertTest::bulkEqualsScalar() {
  QFETCH(qint64, target);
  const OnTarget only(target);
  ThreadPool pool(2);
  const Context context{&pool};
  std::vector<float> wide = awkwardFloats();
  for (uint32_t n : {0x7f800001u, 0x7fc12345u, 0xff812345u}) wide.push_back(std::bit_cast<float>(n));
  std::vector<uint16_t> all(65536), narrow(wide.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> out(all.size());
  for (const DType t : {DType::f16, DType::bf16}) {
    const auto up = t == DType::f16 ? halfToFloat : bf16ToFloat;
    const auto down = t == DType::f16 ? floatToHalf : floatToBf16;
    convert(context, {all.data(), t, out.data(), DType::f32, 65536});
    for (size_t i = 0; i < all.size(); ++i) {
      QCOMPARE(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(up(all[i])));
    }
    convert(context, {wide.data(), DType::f32, narrow.data(), t, static_cast<int64_t>(wide.size())});
    for (size_t i = 0; i < wide.size(); ++i) QCOMPARE(narrow[i], down(wide[i]));
  }
}

KV_TEST(ConvertTest)
#include "convert_test.moc"
