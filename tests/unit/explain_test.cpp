// SPDX-License-Identifier: Apache-2.0
// "What is wrong with my cache?": exact rows of small models are written down as another program's cache, with a
// mistake or two, and the search must name them and nothing else. Clean caches of every row type are never accused.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>

#include "core/explain/key_turning.h"
#include "core/explain/row_bounds.h"
#include "core/explain/row_layout.h"
#include "core/explain/row_types.h"
#include "core/explain/token_rows.h"
#include "core/verbs/explain_cache.h"
#include "core/verbs/verbs.h"
#include "kernels/scalar_convert.h"
#include "support/runner.h"
#include "unit/written_caches.h"

using namespace kvlab;
using namespace kvlab::test;
using nlohmann::json;

class ExplainTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cleanCachesAreEqual() {
    for (const char* model : kExplainedModels) {
      const Writer writer(model);
      for (const StoredType& type : storedTypes())
        for (const int tokens : {5, 40, 70})
          expect(writer, writer.clean(writer.text(tokens, tokens), std::string(type.name)), {},
                 std::string(model) + " " + std::string(type.name));
    }
  }

  void misreadBitsAreNamed() {
    const Writer writer("demo");
    using Read = float (*)(float);
    const std::tuple<const char*, const char*, Read> kMisread[] = {
        {"fp8_e4m3", "fp8_e5m2",
         [](float x) { return kernels::halfToFloat(static_cast<std::uint16_t>(kernels::floatToFp8(x) << 8)); }},
        {"fp8_e5m2", "fp8_e4m3",
         [](float x) { return kernels::fp8ToFloat(static_cast<std::uint8_t>(kernels::floatToHalf(x) >> 8)); }},
        {"bf16", "f16", [](float x) { return kernels::halfToFloat(kernels::floatToBf16(x)); }},
        {"f16", "bf16", [](float x) { return kernels::bf16ToFloat(kernels::floatToHalf(x)); }}};
    for (const auto& [are, read, misread] : kMisread) {
      Written cache = writer.clean(writer.text(40), are);
      for (auto* side : {&cache.keys, &cache.values})
        for (std::vector<float>& rows : *side) std::ranges::transform(rows, rows.begin(), misread);
      for (const char* file : {read, "f32"}) {
        cache.type = file;
        expect(writer, cache, {"bits_misread"}, std::string(are) + " read as " + read + ", stored as " + file);
      }
    }
  }

  void everyLayoutIsNamed() {
    const Writer writer("demo");
    const Written clean = writer.clean(writer.text(70));
    std::vector<LayoutStep> steps = tableSteps(clean.shape, 0);
    for (LayoutStep& one : rowSteps(clean.shape, writer.config())) steps.push_back(std::move(one));
    for (const LayoutStep& step : steps)
      for (const bool values : {false, true}) {
        Written cache = clean;
        for (std::size_t layer = 0; layer < cache.keys.size(); ++layer) {
          step.apply(cache.shape, cache.keys[layer]);
          if (values) step.apply(cache.shape, cache.values[layer]);
        }
        expect(writer, cache, {step.kind}, step.text);
      }
  }

  void everyTurningIsNamed() {
    for (const char* model : {"demo", "synthetic:tiny"}) {
      const Writer writer(model);
      const std::vector<TokenId> ids = writer.text(60);
      const TokenRows rows = *tokenRows(writer.pass(ids));
      for (const KeyTurning& turning : otherTurnings(writer.config(), Layer(0), 60)) {
        Written cache = writer.written(rows, ids);
        cache.keys = rows.keys;
        for (std::size_t layer = 0; layer < cache.keys.size(); ++layer)
          turningLike(turning, writer.config(), Layer(static_cast<int>(layer)), 60)
              .turn(cache.keys[layer], writer.config().headDim, rows.phases);
        expect(writer, cache, {turning.kind}, turning.text);
      }
    }
  }

  void anyBaseAndOffsetIsNamed() {
    const Writer writer("demo");
    const std::vector<TokenId> ids = writer.text(60);
    const TokenRows rows = *tokenRows(writer.pass(ids));
    const auto with = [&](const KeyTurning& turning) {
      Written cache = writer.written(rows, ids);
      cache.keys = rows.keys;
      for (std::vector<float>& keys : cache.keys) turning.turn(keys, writer.config().headDim, rows.phases);
      return cache;
    };
    const auto answer = writer.explained(with(turningWithBase(writer.config(), Layer(0), 60, 31415)));
    QVERIFY(answer && answer->outcome == ExplainOutcome::Explained && answer->causes.front().kind == "rotary_base");
    QVERIFY(std::abs(answer->causes.front().parameters["base"].get<double>() - 31415) < 40);
    KeyTurning offset = writer.turning(0, 60);
    offset.shift = 137;
    const auto shifted = writer.explained(with(offset));
    QVERIFY(shifted && shifted->causes.size() == 1 && shifted->causes.front().kind == "position_offset");
    QCOMPARE(shifted->causes.front().parameters["offset"].get<int>(), 137);
  }

  void orderIsNamed() {
    const Writer writer("demo");
    const Written clean = writer.clean(writer.text(50));
    const auto dim = std::ptrdiff_t{writer.config().headDim};
    {
      Written cache = clean;
      std::swap(cache.keys, cache.values);
      expect(writer, cache, {"keys_and_values_swapped"}, "swapped");
    }
    {
      Written cache = clean;
      for (auto* side : {&cache.keys, &cache.values})
        for (std::vector<float>& rows : *side)
          for (std::size_t row = 0; row < at(cache.shape.rows); ++row) {
            const std::span<float> values = cache.row(rows, row);
            std::swap_ranges(values.begin(), values.begin() + dim, values.begin() + dim);
          }
      expect(writer, cache, {"head_order"}, "heads");
    }
    {
      Written cache = clean;
      for (std::vector<float>& rows : cache.values)
        for (std::size_t row = 0; row < at(cache.shape.rows); ++row) {
          const std::span<float> values = cache.row(rows, row);
          std::copy_n(values.begin(), dim, values.begin() + dim);
        }
      expect(writer, cache, {"head_map"}, "map");
    }
    {
      Written cache = clean;
      std::ranges::reverse(cache.keys), std::ranges::reverse(cache.values);
      expect(writer, cache, {"layer_order"}, "layers");
    }
    {
      Written cache = clean;
      for (std::vector<float>& rows : cache.keys)
        for (float& value : rows) value *= 0.5f;
      expect(writer, cache, {"scale"}, "scale");
    }
  }

  void wrongRowsAreNamed() {
    const Writer writer("demo");
    const std::vector<TokenId> ids = writer.text(60);
    const Written clean = writer.clean(ids, "f16");
    const Written other = writer.clean(writer.text(60, 5), "f16");
    using Damage = std::function<void(Written&, std::vector<float> & rows, const std::vector<float>& others)>;
    const auto with = [&](const std::string& kind, const Damage& damage) {
      Written cache = clean;
      for (std::size_t layer = 0; layer < cache.keys.size(); ++layer) {
        damage(cache, cache.keys[layer], other.keys[layer]);
        damage(cache, cache.values[layer], other.values[layer]);
      }
      expect(writer, cache, {kind}, kind);
    };
    with("zero_rows", [](Written& c, std::vector<float>& rows, const std::vector<float>&) {
      for (const std::size_t row : {7, 8}) std::ranges::fill(c.row(rows, row), 0.0f);
    });
    with("not_finite_rows", [](Written& c, std::vector<float>& rows, const std::vector<float>&) {
      c.row(rows, 9)[3] = std::numeric_limits<float>::quiet_NaN();
    });
    with("scaled_rows", [](Written& c, std::vector<float>& rows, const std::vector<float>&) {
      for (float& value : c.row(rows, 20)) value *= 1.5f;
    });
    Written unscaled = clean;
    for (float& value : unscaled.keys[2]) value *= 7.5f;
    expect(writer, unscaled, {"scale"}, "keys of a layer without their scale");
    with("rows_of_other_tokens", [](Written& c, std::vector<float>& rows, const std::vector<float>&) {
      std::ranges::copy(c.row(rows, 30), c.row(rows, 12).begin());
    });
    with("shifted_rows", [](Written& c, std::vector<float>& rows, const std::vector<float>&) {
      for (std::size_t row = 40; row + 1 < 60; ++row) std::ranges::copy(c.row(rows, row + 1), c.row(rows, row).begin());
    });
    with("foreign_rows", [](Written& c, std::vector<float>& rows, const std::vector<float>& others) {
      const auto from = others.begin() + std::ptrdiff_t(16 * c.shape.width());
      std::copy_n(from, 16 * c.shape.width(), c.row(rows, 16).begin());
    });
  }

  void pairsAreNamed() {
    const Writer writer("demo");
    const Written clean = writer.clean(writer.text(70), "f16");
    std::vector<LayoutStep> steps = rowSteps(clean.shape, writer.config());
    for (LayoutStep& one : tableSteps(clean.shape, 0))
      if (one.kind == "block_transpose" && one.parameters["rows"] == 32) steps.push_back(std::move(one));
    for (std::size_t i = 0; i < steps.size(); ++i)
      for (std::size_t j = 0; j < steps.size(); ++j) {
        if (steps[i].kind == steps[j].kind || (steps[i].ofTable() && !steps[j].ofTable())) continue;
        Written cache = clean;
        for (std::vector<float>& rows : cache.keys)
          steps[i].apply(cache.shape, rows), steps[j].apply(cache.shape, rows);
        const auto answer = writer.explained(cache);
        QVERIFY(answer);
        const std::string said = steps[i].text + " and " + steps[j].text + ": " + answer->verdict;
        QVERIFY2(answer->outcome == ExplainOutcome::Explained && answer->causes.size() <= 2, said.c_str());
      }
    Written cache = clean;
    for (std::size_t layer = 0; layer < cache.keys.size(); ++layer) {
      steps.front().apply(cache.shape, cache.keys[layer]);
      for (auto* rows : {&cache.keys[layer], &cache.values[layer]}) std::ranges::fill(cache.row(*rows, 11), 0.0f);
    }
    expect(writer, cache, {steps.front().kind, "zero_rows"}, "layout and rows");
  }

  void rowTypesAreNamed() {
    const Writer writer("demo");
    for (const char* type : {"fp8_e4m3", "fp8_e5m2", "int8", "q8_0", "q4_0"}) {
      Written cache = writer.clean(writer.text(50), type);
      cache.type = "f16";
      expect(writer, cache, {"row_type"}, type);
    }
    Written brain = writer.clean(writer.text(50), "bf16");  // as wide as f16, and on another grid
    brain.type = "f16";
    expect(writer, brain, {"row_type"}, "bf16 stored as f16");
    const auto answer = writer.explained(brain);
    QVERIFY(answer);
    QCOMPARE(QString::fromStdString(answer->causes.front().text),
             "keys and values were rounded to bf16 and then stored as f16");
  }

  /// Codes of 8 bits that were multiplied by the scales of other heads or rows.
  void scalesOfOthersAreNamed() {
    const Writer writer("demo");
    const Written clean = writer.clean(writer.text(60));
    const auto with = [&](std::size_t heads, std::ptrdiff_t rows, bool values, const char* type) {
      Written cache = clean;
      const std::size_t dim = at(clean.shape.dim), count = at(clean.shape.heads), all = at(clean.shape.rows);
      const auto change = [&](std::vector<float>& layer) {
        std::vector<float> scales;
        for (std::size_t i = 0; i < layer.size(); i += dim) {
          float most = 0;
          for (std::size_t j = i; j < i + dim; ++j) most = std::max(most, std::abs(layer[j]));
          scales.push_back(most / 127);
        }
        for (std::size_t i = 0; i < layer.size(); ++i) {
          const std::size_t head = i / dim, row = head / count;
          const std::size_t from = row + static_cast<std::size_t>(rows);  // where there is none: its own
          const std::size_t other = (from < all ? from : row) * count + (head + heads) % count;
          layer[i] = std::round(layer[i] / scales[head]) * scales[other];
        }
        roundRows(*storedType(type), layer, clean.shape.dim);
      };
      cache.type = type;
      for (std::vector<float>& layer : cache.keys) change(layer);
      if (values)
        for (std::vector<float>& layer : cache.values) change(layer);
      const auto answer = writer.explained(cache);
      QVERIFY2(answer, answer ? "" : answer.error().text().c_str());
      QVERIFY2(answer->outcome == ExplainOutcome::Explained && answer->causes.front().kind == "scale_of_neighbour",
               answer->verdict.c_str());
    };
    for (const char* type : {"f32", "f16", "bf16"}) {
      with(1, 0, true, type);
      with(1, 0, false, type);
    }
    with(0, 1, true, "f32");
    with(0, -1, true, "f32");
  }

  /// Sums in another order are no fault, and a fault as small is one where most rows do not have it.
  void smallFaultsOfF32AreSeen() {
    const Writer writer("demo");
    const std::vector<TokenId> ids = writer.text(60);
    const auto off = [&](float by, std::size_t from) {
      Written cache = writer.clean(ids);
      for (auto* side : {&cache.keys, &cache.values})
        for (std::size_t layer = 1; layer < side->size(); ++layer)
          for (std::size_t row = from; row < 60; ++row) {
            float sign = 1;
            for (float& value : cache.row((*side)[layer], row)) value *= 1 + by * (sign = -sign);
          }
      return writer.explained(cache);
    };
    for (const float by : {3e-7f, 3e-6f, 3e-5f}) {
      const auto all = off(by, 0);
      QVERIFY(all);
      QVERIFY2(all->outcome == ExplainOutcome::Equal && all->causes.empty(), all->verdict.c_str());
    }
    const auto some = off(5e-5f, 40);
    QVERIFY(some);
    QVERIFY2(some->outcome == ExplainOutcome::Unexplained, some->verdict.c_str());
    QCOMPARE(some->begins->token, 40);
  }

  void badInputIsRefused() {
    const Writer writer("demo");
    const Written clean = writer.clean(writer.text(20));
    const auto code = [&](const Written& cache) {
      const auto answer = writer.explained(cache);
      return answer ? std::string() : answer.error().code;
    };
    Written none = clean;
    none.ids.clear();
    QCOMPARE(code(none), std::string("bad_argument"));
    Written outside = clean;
    outside.ids[3] = TokenId(1 << 20);
    QCOMPARE(code(outside), std::string("bad_argument"));
    Written narrow = clean;
    narrow.shape.dim /= 2;
    QCOMPARE(code(narrow), std::string("other_model"));
    Written deep = clean;
    deep.keys.push_back(clean.keys[0]), deep.values.push_back(clean.values[0]);
    QCOMPARE(code(deep), std::string("other_model"));
    Written empty = clean;
    empty.keys.clear(), empty.values.clear();
    QCOMPARE(code(empty), std::string("bad_argument"));
  }

  void answersAreComparedWithFormerOnes() {
    const Writer writer("demo");
    Written cache = writer.clean(writer.text(40));
    const auto clean = writer.explained(cache);
    for (std::vector<float>& rows : cache.keys)
      for (float& value : rows) value *= 0.5f;
    const auto scaled = writer.explained(cache);
    QVERIFY(clean && scaled);
    QVERIFY(*noWorse(*clean, toJson(*clean)));
    QVERIFY(*noWorse(*scaled, toJson(*scaled)));
    QVERIFY(*noWorse(*clean, toJson(*scaled)));
    QVERIFY(!*noWorse(*scaled, toJson(*clean)));
    QVERIFY(!noWorse(*clean, json::array()));
  }

  void causesHaveNames() {
    std::vector<std::string_view> names;
    for (const CauseKind& kind : causeKinds()) {
      QVERIFY(!kind.title.empty());
      names.push_back(kind.name);
    }
    std::ranges::sort(names);
    QVERIFY(std::ranges::adjacent_find(names) == names.end());
  }
};

KV_TEST(ExplainTest)
#include "explain_test.moc"
