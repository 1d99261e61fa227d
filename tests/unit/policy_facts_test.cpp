// SPDX-License-Identifier: Apache-2.0
// Published facts about eviction policies that need no weights, and their rules on random tensors against
// second implementations written here from the papers.
#include <cmath>

#include "core/policy/policy.h"
#include "core/policy/selection.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr int kHeads = 4, kKvHeads = 2, kDim = 8, kRows = 50;

/// Random statistics of one layer.
struct Tensors {
  std::vector<LedgerId> ledger;
  std::vector<float> received, observed, newest, keys, values, brightness;
  QueryMoments moments;
  std::vector<double> frequencies;

  explicit Tensors(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform;
    const auto fill = [&](std::vector<float>& to, int n, auto& from) {
      for (int i = 0; i < n; ++i) to.push_back(from(random));
    };
    for (int i = 0; i < kRows; ++i) ledger.push_back(LedgerId(i));
    fill(received, kKvHeads * kRows, uniform);
    fill(observed, kKvHeads * kRows, uniform);
    fill(newest, kRows, uniform);
    fill(brightness, kRows, uniform);
    fill(keys, kRows * kKvHeads * kDim, normal);
    fill(values, kRows * kKvHeads * kDim, normal);
    for (int i = 0; i < kHeads * kDim; ++i) moments.mean.push_back(normal(random));
    for (int h = 0; h < kHeads; ++h) {  // A A' is a covariance
      std::vector<double> a(kDim * kDim);
      for (double& one : a) one = 0.3 * normal(random);
      for (int i = 0; i < kDim; ++i)
        for (int j = 0; j < kDim; ++j) {
          double sum = 0;
          for (int k = 0; k < kDim; ++k)
            sum += a[static_cast<std::size_t>(i * kDim + k)] * a[static_cast<std::size_t>(j * kDim + k)];
          moments.covariance.push_back(sum);
        }
    }
    for (int i = 0; i < kDim / 2; ++i) frequencies.push_back(std::pow(100.0, -2.0 * i / kDim));
  }

  LayerRows rows() const {
    LayerRows out;
    out.heads = kHeads;
    out.kvHeads = kKvHeads;
    out.headDim = kDim;
    out.ledger = ledger;
    out.received = received;
    out.observed = observed;
    out.newest = newest;
    out.keys = keys;
    out.values = values;
    out.brightness = brightness;
    out.queries = &moments;
    out.frequencies = frequencies;
    out.nextPhase = kRows;
    return out;
  }
  const float* key(int row, int head) const { return keys.data() + (row * kKvHeads + head) * kDim; }
  const float* value(int row, int head) const { return values.data() + (row * kKvHeads + head) * kDim; }
};

double norm(const float* x) {
  double sum = 0;
  for (int i = 0; i < kDim; ++i) sum += double(x[i]) * x[i];
  return std::sqrt(sum);
}

PolicySpec specOf(const std::string& text) {
  Result<PolicySpec> spec = PolicySpec::fromJson(text);
  if (!spec) qFatal("%s", spec.error().text().c_str());
  return spec.take();
}

/// Scores per KV head from a paper's formula, in double.
using Formula = double (*)(const Tensors& layer, int head, int row);

constexpr int kSinks = 4, kWindow = 4, kPast = kRows - kWindow;

/// Mean over neighbours as torch.nn.functional.avg_pool1d(kernel 5, padding 2, stride 1) has it of the rows before the
/// window: zeros count on both sides.
double pooledMean(const Tensors& layer, int head, int row) {
  double sum = 0;
  for (int j = row - 2; j <= row + 2; ++j)
    if (j >= 0 && j < kPast) sum += layer.observed[static_cast<std::size_t>(head * kRows + j)];
  return sum / 5;
}

/// The same with max_pool1d(kernel 7, padding 3, stride 1).
double pooledMaximum(const Tensors& layer, int head, int row) {
  float most = 0;
  for (int j = std::max(0, row - 3); j < std::min(kPast, row + 4); ++j)
    most = std::max(most, layer.observed[static_cast<std::size_t>(head * kRows + j)]);
  return double(most) - 1e-9 * row;  // if scores are equal, the earlier row wins
}

double expected(const Tensors& layer, int group, int row) {
  // R: the mean of the rotations of the 3 next positions, as a matrix on column vectors.
  double r[kDim][kDim] = {};
  for (int step = 0; step < 3; ++step)
    for (int pair = 0; pair < kDim / 2; ++pair) {
      const double angle = (kRows + step) * layer.frequencies[static_cast<std::size_t>(pair)];
      r[pair][pair] += std::cos(angle) / 3;
      r[pair][pair + kDim / 2] -= std::sin(angle) / 3;
      r[pair + kDim / 2][pair] += std::sin(angle) / 3;
      r[pair + kDim / 2][pair + kDim / 2] += std::cos(angle) / 3;
    }
  double total = 0;
  for (int head = group * 2; head < group * 2 + 2; ++head) {
    const auto logit = [&](int j) {
      double turned[kDim] = {};  // R'k: mu.(R'k) = (R mu).k
      for (int a = 0; a < kDim; ++a)
        for (int b = 0; b < kDim; ++b) turned[a] += r[b][a] * layer.key(j, group)[b];
      double linear = 0, square = 0;
      for (int a = 0; a < kDim; ++a) {
        linear += layer.moments.mean[static_cast<std::size_t>(head * kDim + a)] * turned[a];
        for (int b = 0; b < kDim; ++b)
          square +=
              turned[a] * layer.moments.covariance[static_cast<std::size_t>((head * kDim + a) * kDim + b)] * turned[b];
      }
      return linear / std::sqrt(double(kDim)) + square / (2.0 * kDim);
    };
    double sum = 0;
    for (int j = kSinks; j < kRows; ++j) sum += std::exp(logit(j));
    total += std::exp(logit(row)) / sum / 2;
  }
  return (total + 0.01) * norm(layer.value(row, group));
}

}  // namespace

class PolicyFactsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// PyramidKV: 4096 rows, half of them kept, 32 layers: 3994 in the first, 102 in the last, 2048 on average.
  /// AdaKV, figure 1: three heads share six rows; by head they keep 2.26 of the attention, shared out 2.48.
  void adaptiveHeadBudgets() {
    const std::vector<std::vector<float>> heads{{.32f, .01f, .18f, .08f, .22f, .19f},
                                                {.89f, .01f, .05f, .02f, .01f, .02f},
                                                {.68f, .01f, .08f, .04f, .09f, .10f}};
    const auto kept = [&](const std::vector<std::int32_t>& budgets) {
      double sum = 0;
      for (std::size_t head = 0; head < heads.size(); ++head) {
        std::vector<float> sorted = heads[head];
        std::sort(sorted.rbegin(), sorted.rend());
        sum += std::accumulate(sorted.begin(), sorted.begin() + budgets[head], 0.0);
      }
      return std::round(sum * 100) / 100;
    };
    const std::vector<std::int32_t> uniform = headBudgets(heads, 2, 2), adaptive = headBudgets(heads, 2, 0);
    QCOMPARE(uniform, (std::vector<std::int32_t>{2, 2, 2}));
    QCOMPARE(adaptive, (std::vector<std::int32_t>{4, 1, 1}));
    QCOMPARE(kept(uniform), 2.26);
    QCOMPARE(kept(adaptive), 2.48);
    QCOMPARE(headBudgets(heads, 2, 1), adaptive);  // the budget that each head has anyway
    QCOMPARE(headBudgets(heads, 9, 1), (std::vector<std::int32_t>{6, 6, 6}));
    QCOMPARE(headBudgets({{1, 1}, {1, 1}}, 1, 0), (std::vector<std::int32_t>{2, 0}));  // ties: the lower head
    QCOMPARE(headBudgets({{NAN, 1}, {0, -1}}, 1, 0), (std::vector<std::int32_t>{1, 1}));
  }

  /// One head is sharp, the other even: alone they would keep 10 and 0 of the 10 places.
  void safeguards() {
    std::vector<float> sharp(30), even(30);
    for (std::size_t i = 0; i < 30; ++i) sharp[i] = 1 - 0.01f * static_cast<float>(i), even[i] = 0.1f;
    const auto budgets = [&](const char* rule, const Bands& bands) {
      return headBudgets({sharp, even}, bands, specOf("adakv:" + std::string(rule)));
    };
    using Rows = std::vector<std::int32_t>;
    // kvpress: int(0.5 * 9) = 4 of the 4 + 5 rows that a head holds, of which the window has 4.
    QCOMPARE(budgets("preset=kvpress,alpha=0.5", {0, 5, 4}), (Rows{10, 0}));
    QCOMPARE(budgets("preset=kvpress,alpha=0.8", {0, 5, 4}), (Rows{7, 3}));   // int(0.8 * 9) = 7
    QCOMPARE(budgets("preset=kvpress,alpha=0.01", {0, 5, 0}), (Rows{9, 1}));  // at least one
    QCOMPARE(budgets("preset=kvpress,alpha=0", {0, 5, 0}), (Rows{10, 0}));
    // FFY0/AdaKV: round(count * (1 - alpha) + int(base * alpha)); a half goes to the even number, so that a row may
    // lack.
    QCOMPARE(budgets("preset=repo,alpha=0.2", {0, 5, 4}), (Rows{9, 1}));
    QCOMPARE(budgets("preset=repo,alpha=0.5", {0, 5, 4}), (Rows{7, 2}));
    QCOMPARE(budgets("preset=readme,alpha=0.25", {0, 5, 4}), (Rows{8, 1}));  // 8.5 and 1
  }

  /// kvpress's README and RocketKV's introduction: a million tokens of Llama-3.1-70B are 327.7 GB, 32 contexts of 32k
  /// tokens 320 GiB.
  void sizesOfCaches() {
    // K and V stand before the scales.
    const std::int64_t row = kernels::rowLayout({8, 128, kernels::DType::f16, kernels::DType::f16}).kScales,
                       token = 80 * row;
    QCOMPARE(token, std::int64_t{327'680});
    QCOMPARE(std::round(static_cast<double>(token) * 1e6 / 1e8) / 10, 327.7);
    QCOMPARE(32 * 32'768 * token, 320ll << 30);
  }

  void pyramidBudgets() {
    const std::vector<double> rows = pyramidRows(4096, 2048, 64, 20, 32);
    QCOMPARE(std::lround(rows.front()), 3994);
    QCOMPARE(std::lround(rows.back()), 102);
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      sum += rows[i];
      if (i > 1) QVERIFY(std::abs((rows[i] - rows[i - 1]) - (rows[1] - rows[0])) < 1e-9);
    }
    QVERIFY(std::abs(sum / 32 - 2048) < 1e-3);
    // The largest would not fit: it is clipped and the smallest rises, the mean stays.
    const std::vector<double> clipped = pyramidRows(4096, 3000, 64, 20, 32);
    QCOMPARE(clipped.front(), 4032.0);
    QCOMPARE(clipped.back(), 1968.0);
    QCOMPARE(pyramidRows(4096, 2048, 64, 20, 1), std::vector<double>(1, 2048 * 2 - 102.4));  // as in kvpress
    // The smallest would not hold the window.
    QCOMPARE(pyramidRows(4096, 1000, 64, 20, 32), std::vector<double>(32, 1000.0));
    const PolicySpec spec = specOf("pyramidkv:ratio=0.5");
    QCOMPARE(bandsOf(spec, Layer(0), 32, 4096).bands.capacity(), 3994);
    QCOMPARE(bandsOf(spec, Layer(31), 32, 4096).bands.capacity(), 102);
  }

  /// StreamingLLM, section 3.2: the cache holds 0 1 2 3 6 7 8, and token 9 is decoded at positions 0 .. 7.
  void streamingPositions() {
    SessionFixture s(json{{"position", "cache"}, {"policy", "streaming_llm:sinks=4,window=3"}});
    s.must("promptIds", {{"ids", SessionFixture::ids(8)}});
    s.must("step", {{"tokens", {11}}});
    std::vector<int> kept;
    for (LedgerId id : s->state().map(CacheLayer(0)).ledger) kept.push_back(id.value());
    QCOMPARE(kept, (std::vector<int>{0, 1, 2, 3, 6, 7, 8}));
    std::vector<int> phases(s->state().map(CacheLayer(0)).phases.begin(), s->state().map(CacheLayer(0)).phases.end());
    QCOMPARE(phases, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
    s.must("step", {{"tokens", {12}}});
    const ResidencyView& seen = *s->state().attention->maps[0];  // as token 9 saw it, itself included
    QCOMPARE(seen.phases[seen.size() - 1], 7);
  }

  void rulesOnRandomTensors_data() {
    QTest::addColumn<QString>("policy");
    QTest::addColumn<Formula>("formula");
    const auto row = [](const char* policy, Formula formula) { QTest::newRow(policy) << QString(policy) << formula; };
    row("h2o:capacity=20",
        [](const Tensors& l, int h, int j) { return double(l.received[static_cast<std::size_t>(h * kRows + j)]); });
    row("tova:capacity=20", [](const Tensors& l, int, int j) { return double(l.newest[static_cast<std::size_t>(j)]); });
    row("snapkv:capacity=20,window=4,heads=mean", pooledMean);
    row("snapkv:preset=adakv,capacity=20,window=4,heads=mean", pooledMaximum);
    row("knorm:capacity=20,heads=mean", [](const Tensors& l, int h, int j) { return -norm(l.key(j, h)); });
    row("knorm:capacity=20,heads=max", [](const Tensors& l, int h, int j) { return -norm(l.key(j, h)); });
    row("keydiff:capacity=20,heads=mean", [](const Tensors& l, int h, int j) {
      double mean[kDim] = {}, dot = 0, size = 0;
      for (int r = 0; r < kRows; ++r)
        for (int i = 0; i < kDim; ++i) mean[i] += l.key(r, h)[i] / norm(l.key(r, h)) / kRows;
      for (int i = 0; i < kDim; ++i) {
        dot += mean[i] * l.key(j, h)[i];
        size += mean[i] * mean[i];
      }
      return -dot / std::sqrt(size) / norm(l.key(j, h));
    });
    row("expected_attention:capacity=20,future=3,epsilon=0.01,heads=mean", expected);
    row("brightness:capacity=20",
        [](const Tensors& l, int, int j) { return double(l.brightness[static_cast<std::size_t>(j)]); });
  }
  /// The same rows stay as a sort by the paper's formula says.
  void rulesOnRandomTensors() {
    QFETCH(QString, policy);
    QFETCH(Formula, formula);
    const PolicySpec spec = specOf(policy.toStdString());
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const Tensors layer(seed);
      const Bands bands = bandsOf(spec, Layer(0), 4, kRows).bands;
      const std::vector<float> scores = *policyOf(spec.name).scores(spec, layer.rows());
      const std::vector<std::int32_t> out =
          losers(perRow(scores, kRows, spec.heads), bands, spec.threshold, std::vector<bool>(kRows));
      std::vector<std::pair<double, int>> order;
      for (int row = bands.sinks; row < kRows - bands.window; ++row) {
        const double a = formula(layer, 0, row), b = formula(layer, 1, row);
        order.emplace_back(spec.heads == HeadRule::Max ? std::max(a, b) : a + b, row);
      }
      std::sort(order.begin(), order.end());
      std::vector<std::int32_t> wanted;
      for (int i = 0; i < kRows - 20; ++i) wanted.push_back(order[static_cast<std::size_t>(i)].second);
      std::sort(wanted.begin(), wanted.end());
      QCOMPARE(out, wanted);
    }
  }

  void ties() {
    // The incumbent, the earlier row, stays: a later one must be strictly better.
    QCOMPARE(losers(std::vector<float>{9, 1, 1, 1, 9}, {1, 2, 1}, {}, std::vector<bool>(5)),
             (std::vector<std::int32_t>{3}));
    QCOMPARE(losers(std::vector<float>{9, 1, 1, 2, 9}, {1, 2, 1}, {}, std::vector<bool>(5)),
             (std::vector<std::int32_t>{2}));
    const float nan = std::nanf("");
    QCOMPARE(losers(std::vector<float>{nan, nan, -5, 1, nan}, {1, 2, 1}, {}, std::vector<bool>(5)),
             (std::vector<std::int32_t>{1}));
    QCOMPARE(losers(std::vector<float>{9, 1, 2, 3, 9}, {1, 2, 1}, {}, {false, true, false, false, false}),
             (std::vector<std::int32_t>{2}));
    QCOMPARE(losers(std::vector<float>{0, 1, 2, 3, 0}, {1, 99, 1}, 2.5, std::vector<bool>(5)),
             (std::vector<std::int32_t>{1, 2}));
    QCOMPARE(losers(std::vector<float>{1, 2}, {4, 0, 4}, {}, std::vector<bool>(2)), (std::vector<std::int32_t>{}));
  }

  /// Without pins and with one row that leaves, a walk takes the place of a selection.
  void aWalkFindsWhoLeaves() {
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
      std::vector<float> scores(1 + random() % 12);
      for (float& one : scores) one = random() % 5 ? static_cast<float>(random() % 4) : std::nanf("");
      const Bands bands{static_cast<std::int32_t>(random() % 3), static_cast<std::int32_t>(random() % 10),
                        static_cast<std::int32_t>(random() % 3)};
      QCOMPARE(losers(scores, bands, {}, {}), losers(scores, bands, {}, std::vector<bool>(scores.size())));
    }
  }

  /// Lists over a map, aligned with another one, against a search for each row.
  void listsFollowTheirRows() {
    std::mt19937 random(6);
    const auto drawn = [&] {
      auto map = std::make_shared<ResidencyView>();
      for (int id = 0; id < 30; ++id)
        if (random() % 3) map->ledger.push_back(LedgerId(id)), map->slotOf.push_back(Slot(id));
      return map;
    };
    for (int round = 0; round < 200; ++round) {
      const auto old = drawn(), now = drawn();
      RowValues values{old, {}};
      for (std::size_t i = 0; i < 2 * old->size(); ++i) values.values.push_back(static_cast<float>(random() % 1000));
      std::vector<float> wanted;
      for (std::size_t list = 0; list < 2; ++list)
        for (const LedgerId id : now->ledger) {
          const auto found = static_cast<std::size_t>(std::ranges::find(old->ledger, id) - old->ledger.begin());
          wanted.push_back(found < old->size() ? values.values[list * old->size() + found] : -1);
        }
      QCOMPARE(alignedWith(*now, values, 2, -1), wanted);
      QCOMPARE(alignedWith(*old, values, 2, -1), std::vector<float>(values.values.begin(), values.values.end()));
    }
  }

  void bandsFromTotals() {
    const auto bands = [](const char* text, int rows) { return bandsOf(specOf(text), Layer(0), 4, rows).bands; };
    QCOMPARE(bands("h2o:preset=class", 0), (Bands{0, 4, 512}));
    QCOMPARE(bands("h2o:preset=ratio", 1000), (Bands{0, 100, 100}));              // a tenth heavy, a tenth recent
    QCOMPARE(bands("h2o:ratio=0.5", 37), (Bands{0, 9, 9}));                       // a share is rounded down
    QCOMPARE(bands("snapkv:preset=kvpress,capacity=80", 0), (Bands{0, 16, 64}));  // the window of its queries is whole
    QCOMPARE(bands("snapkv:preset=kvpress,capacity=20", 0), (Bands{0, 0, 20}));
    QCOMPARE(bands("streaming_llm:capacity=20,window=16", 0), (Bands{4, 0, 16}));
    QCOMPARE(bands("streaming_llm:ratio=0.05,window=9", 40), (Bands{1, 0, 1}));
    QCOMPARE(bands("random:capacity=1", 40), (Bands{0, 0, 1}));
    QVERIFY(!bandsOf(specOf("streaming_llm:ratio=0.05,window=9"), Layer(0), 4, 40).fallback.empty());
  }
};

KV_TEST(PolicyFactsTest)
#include "policy_facts_test.moc"
