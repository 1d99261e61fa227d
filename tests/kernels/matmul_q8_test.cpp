// SPDX-License-Identifier: Apache-2.0
// Products of integers (numerics.h, "portable-q8") against the definition computed value by value, with the same bits
// for every number of rows and threads; and how far they are from exact products.
#include <cmath>

#include "block_bytes.h"
#include "kernels/block_codes.h"
#include "kernels/cpu/linear/tiles.h"
#include "kernels/numerics.h"
#include "kernels/ops/matmul.h"
#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

/// A unit of weights: value = scale * code + least.
struct Unit {
  float scale, least;
  int codes[32];
  int n;
};

int bitsAt(const uint8_t* at, int bit, int count) { return (at[bit / 8] >> (bit % 8)) & ((1 << count) - 1); }

/// The units of a row of q8_0, q4_1, q4_k and q6_k, from the layouts' descriptions.
std::vector<Unit> unitsOf(DType type, const uint8_t* row, int64_t k) {
  std::vector<Unit> out;
  const DTypeBlock block = dtypeBlock(type);
  for (int64_t b = 0; b < k / block.values; ++b, row += block.bytes) {
    const float d = block::half(row + (type == DType::q6_k ? 208 : 0));
    if (type == DType::q8_0) {
      Unit u{d, 0, {}, 32};
      for (int i = 0; i < 32; ++i) u.codes[i] = static_cast<int8_t>(row[2 + i]);
      out.push_back(u);
    } else if (type == DType::q4_1) {
      Unit u{d, block::half(row + 2), {}, 32};
      for (int i = 0; i < 32; ++i) u.codes[i] = bitsAt(row + 4, i % 16 * 8 + i / 16 * 4, 4);
      out.push_back(u);
    } else if (type == DType::q4_k) {
      for (int s = 0; s < 8; ++s) {
        const uint8_t* packed = row + 4;
        const int scale = s < 4 ? packed[s] & 63 : bitsAt(packed + 4 + s, 0, 4) + 16 * (packed[s - 4] >> 6);
        const int least = s < 4 ? packed[4 + s] & 63 : bitsAt(packed + 4 + s, 4, 4) + 16 * (packed[s] >> 6);
        Unit u{d * static_cast<float>(scale), -(block::half(row + 2) * static_cast<float>(least)), {}, 32};
        for (int i = 0; i < 32; ++i) u.codes[i] = bitsAt(row + 16 + s / 2 * 32 + i, s % 2 * 4, 4);
        out.push_back(u);
      }
    } else {
      for (int s = 0; s < 16; ++s) {
        Unit u{d * static_cast<float>(static_cast<int8_t>(row[192 + s])), 0, {}, 16};
        for (int i = 0; i < 16; ++i) {
          const int at = s * 16 + i, half = at / 128, quarter = at % 128 / 32, place = at % 32;
          const int low = bitsAt(row + half * 64 + quarter % 2 * 32 + place, quarter / 2 * 4, 4);
          u.codes[i] = low + 16 * bitsAt(row + 128 + half * 32 + place, quarter * 2, 2) - 32;
        }
        out.push_back(u);
      }
    }
  }
  return out;
}

float productOf(const float* x, const std::vector<Unit>& units) {
  float lanes[2] = {};
  int64_t at = 0;
  for (size_t u = 0; u < units.size(); ++u) {
    const Unit& unit = units[u];
    const float* block = x + at / 32 * 32;
    float most = 0;
    for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(block[i]));
    const float scale = most / 127.0f, inverse = most > 0 ? 127.0f / most : 0.0f;
    int64_t sum = 0, codes = 0;
    for (int i = 0; i < unit.n; ++i) {
      const auto code = static_cast<int64_t>(std::nearbyint(x[at + i] * inverse));
      sum += code * unit.codes[i];
      codes += code;
    }
    float& lane = lanes[u == units.size() - 1 && u % 2 == 0 ? 0 : u % 2];
    lane = std::fma(static_cast<float>(sum) * scale, unit.scale, lane);
    if (unit.least != 0) lane = std::fma(scale * static_cast<float>(codes), unit.least, lane);
    at += unit.n;
  }
  return lanes[0] + lanes[1];
}

std::vector<float> productOf(bool rounded, const std::vector<uint8_t>& codes, DType type, int64_t n, int64_t k,
                             const std::vector<float>& x, int64_t first, int64_t m, int threads) {
  ThreadPool pool(threads);
  std::vector<float> y(static_cast<size_t>(m * n));
  const MatmulArgs args{.x = x.data() + first * k, .w = {codes.data(), type, nullptr, n, k}, .y = y.data(), .m = m};
  rounded ? matmulQ8({&pool}, args) : matmul({&pool}, args);
  return y;
}

}  // namespace

class MatmulQ8Test : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void isWhatItsDefinitionSays_data();
  void isWhatItsDefinitionSays();
  void sameBitsForAnyNumberOfRows_data();
  void sameBitsForAnyNumberOfRows();
  void fewerOutputsThanAPanel_data() { sameBitsForAnyNumberOfRows_data(); }
  void fewerOutputsThanAPanel();
  void targetsAgree_data() { sameBitsForAnyNumberOfRows_data(); }
  void targetsAgree();
  void tilesAgree_data() { sameBitsForAnyNumberOfRows_data(); }
  void tilesAgree();
  void otherTypesStayExact();
};

void MatmulQ8Test::isWhatItsDefinitionSays_data() {
  QTest::addColumn<int>("type");
  for (const DType type : {DType::q8_0, DType::q4_1, DType::q4_k, DType::q6_k})
    QTest::newRow(dtypeName(type)) << static_cast<int>(type);
}

void MatmulQ8Test::isWhatItsDefinitionSays() {
  if (std::string(numericsId()) != "portable-fma") QSKIP("this processor does not fuse multiply and add");
  QFETCH(int, type);
  const auto t = static_cast<DType>(type);
  constexpr int64_t n = 21, k = 768, m = 3;
  const auto codes = blocksOf(t, n * k, 5);
  const auto x = Random(6).values(m * k, 3);
  const auto y = productOf(true, codes, t, n, k, x, 0, m, 1);
  for (int64_t j = 0; j < n; ++j) {
    const auto units = unitsOf(t, codes.data() + j * dtypeRowBytes(t, k), k);
    for (int64_t i = 0; i < m; ++i) QCOMPARE(y[static_cast<size_t>(i * n + j)], productOf(x.data() + i * k, units));
  }
}

void MatmulQ8Test::sameBitsForAnyNumberOfRows_data() {
  QTest::addColumn<int>("type");
  for (const DType type : kBlockTypes) QTest::newRow(dtypeName(type)) << static_cast<int>(type);
}

void MatmulQ8Test::sameBitsForAnyNumberOfRows() {
  QFETCH(int, type);
  const auto t = static_cast<DType>(type);
  constexpr int64_t n = 45, k = 512, m = 13;
  const auto codes = blocksOf(t, n * k, 9);
  const auto x = Random(8).values(m * k);
  const auto all = productOf(true, codes, t, n, k, x, 0, m, 2);
  for (const int64_t rows : {1, 2, 3, 4, 5, 7})
    for (int64_t i = 0; i + rows <= m; i += rows) {
      const auto some = productOf(true, codes, t, n, k, x, i, rows, 1);
      QVERIFY(std::memcmp(some.data(), all.data() + i * n, some.size() * 4) == 0);
    }
  const auto exact = productOf(false, codes, t, n, k, x, 0, m, 1);
  double apart = 0, norm = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    apart += std::pow(double(all[i]) - exact[i], 2);
    norm += std::pow(double(exact[i]), 2);
  }
  const double error = std::sqrt(apart / norm);
  qInfo("%s: relative error %.2e", dtypeName(t), error);
  QVERIFY(error > 1e-4 && error < 1e-2);
}

void MatmulQ8Test::fewerOutputsThanAPanel() {
  QFETCH(int, type);
  const auto t = static_cast<DType>(type);
  constexpr int64_t most = 33, n = 7, k = 512, m = 5;
  const auto codes = blocksOf(t, most * k, 9);
  const auto x = Random(8).values(m * k);
  const auto all = productOf(true, codes, t, most, k, x, 0, m, 1), some = productOf(true, codes, t, n, k, x, 0, 2, 2);
  for (size_t i = 0; i < 2; ++i) QVERIFY(std::memcmp(some.data() + i * n, all.data() + i * most, n * 4) == 0);
}

void MatmulQ8Test::targetsAgree() {
  QFETCH(int, type);
  const auto t = static_cast<DType>(type);
  constexpr int64_t n = 19, k = 768, m = 6;
  const auto codes = blocksOf(t, n * k, 3);
  const auto x = Random(4).values(m * k);
  std::vector<float> first;
  for (const int64_t target : fusedTargets()) {
    const OnTarget only(target);
    const auto y = productOf(true, codes, t, n, k, x, 0, m, 1);
    if (first.empty()) first = y;
    QVERIFY2(std::memcmp(first.data(), y.data(), y.size() * 4) == 0, hwy::TargetName(target));
  }
}

void MatmulQ8Test::tilesAgree() {
  QFETCH(int, type);
  const auto t = static_cast<DType>(type);
  const int64_t n = 45, k = dtypeBlock(t).values == 32 ? 288 : 768;  // odd and even numbers of units
  ThreadPool pool(2);
  for (const int64_t m : {15, 16, 37}) {
    const auto codes = blocksOf(t, n * k, 9);
    const auto x = Random(8).values(m * k);
    std::vector<float> y(static_cast<size_t>(m * n));
    matmulQ8Emulated({&pool}, {.x = x.data(), .w = {codes.data(), t, nullptr, n, k}, .y = y.data(), .m = m});
    const auto wanted = productOf(true, codes, t, n, k, x, 0, m, 1);
    QVERIFY(std::memcmp(y.data(), wanted.data(), y.size() * 4) == 0);
  }
}

void MatmulQ8Test::otherTypesStayExact() {
  constexpr int64_t n = 20, k = 70, m = 5;
  const auto w = Random(1).values(n * k), x = Random(2).values(m * k);
  std::vector<uint8_t> bytes(w.size() * 4);
  std::memcpy(bytes.data(), w.data(), bytes.size());
  QCOMPARE(productOf(true, bytes, DType::f32, n, k, x, 0, m, 1), productOf(false, bytes, DType::f32, n, k, x, 0, m, 1));
}

KV_TEST(MatmulQ8Test)
#include "matmul_q8_test.moc"
