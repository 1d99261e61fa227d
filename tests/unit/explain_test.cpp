// SPDX-License-Identifier: Apache-2.0
// "What is wrong with my cache?": exact rows of small models are written down as another program's cache, with a
// mistake or two, and the search must name them and nothing else. Clean caches of every row type are never accused.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/explain/key_turning.h"
#include "core/explain/row_bounds.h"
#include "core/explain/row_layout.h"
#include "core/explain/row_types.h"
#include "core/explain/token_rows.h"
#include "core/verbs/explain_cache.h"
#include "core/verbs/verbs.h"
#include "kernels/scalar_convert.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

/// Rows of a text as another program would have them: keys turned to their positions.
struct Written {
  RowShape shape;
  std::vector<std::vector<float>> keys, values;  // [layers][rows, width]
  std::string type = "f32";
  std::vector<std::int32_t> positions = {};  // of all layers
  std::vector<TokenId> ids = {};

  std::span<float> row(std::vector<float>& of, std::size_t index) const {
    return std::span(of).subspan(index * at(shape.width()), at(shape.width()));
  }
  ForeignCache cache() const {
    ForeignCache out;
    out.importer = "test", out.ids = ids;
    for (std::size_t layer = 0; layer < keys.size(); ++layer) {
      ForeignLayer one;
      one.layer = static_cast<std::int32_t>(layer), one.rows = shape.rows, one.positions = positions;
      one.keys = {type, shape.width(), [rows = keys[layer]] { return Result<std::vector<float>>(rows); }};
      one.values = {type, shape.width(), [rows = values[layer]] { return Result<std::vector<float>>(rows); }};
      out.layers.push_back(std::move(one));
    }
    return out;
  }
};

class Writer {
 public:
  explicit Writer(const std::string& model) : m_manifest({{"model", model}, {"check", {{"level", "off"}}}}) {
    auto session = openSession(*Manifest::fromJson(m_manifest), KVLAB_RESOURCES_DIR);
    if (session) m_session = std::move(*session);
    else qWarning("%s", session.error().text().c_str());
  }
  const ModelConfig& config() const { return m_session->model().config(); }
  RowShape shape(std::size_t rows) const {
    return {static_cast<std::int64_t>(rows), config().kvHeads, config().headDim};
  }
  std::vector<TokenId> text(int tokens, int seed = 1) const {
    std::vector<TokenId> out;
    for (int i = 0; i < tokens; ++i)
      out.push_back(TokenId((i * 37 + i * i * seed + 11 * seed) % (config().vocab - 8) + 4));
    return out;
  }
  TokenPass pass(const std::vector<TokenId>& ids) const {
    TokenPass out;
    out.weights = m_session->parts().weights, out.backend = m_session->parts().backend.get(), out.ids = ids;
    return out;
  }
  /// A clean cache in a type, as an engine has it that rounds rows on their way into the cache.
  Written clean(const std::vector<TokenId>& ids, const std::string& type = "f32") const {
    TokenPass made = pass(ids);
    SideReading keys, values;
    values.side = values.source = Side::Values;
    std::vector<double> phases;
    for (std::size_t i = 0; i < ids.size(); ++i) phases.push_back(static_cast<double>(i));
    const RowRounding rounding(config(), keys, values, storedType(type), storedType(type), phases,
                               static_cast<std::int64_t>(ids.size()));
    made.stored = rounding;
    return written(*tokenRows(made), ids, type);
  }
  Written written(TokenRows rows, const std::vector<TokenId>& ids, const std::string& type = "f32") const {
    Written out{shape(ids.size()), std::move(rows.keys), std::move(rows.values), type, {}, ids};
    for (std::size_t layer = 0; layer < out.keys.size(); ++layer) {
      turning(layer, ids.size()).turn(out.keys[layer], config().headDim, rows.phases);
      roundRows(*storedType(type), out.keys[layer], config().headDim);
    }
    return out;
  }
  KeyTurning turning(std::size_t layer, std::size_t tokens) const {
    return turningOf(config(), Layer(static_cast<int>(layer)), static_cast<std::int64_t>(tokens));
  }
  Result<Explanation> explained(const Written& cache, const std::vector<TokenId>& before = {}) const {
    ExplainAsk ask;
    ask.before = before;
    return explainCache(cache.cache(), m_manifest, KVLAB_RESOURCES_DIR, ask);
  }

 private:
  json m_manifest;
  std::unique_ptr<Session> m_session;
};

std::vector<std::string> kindsOf(const Explanation& answer) {
  std::vector<std::string> out;
  for (const Cause& cause : answer.causes) out.push_back(cause.kind);
  std::ranges::sort(out);
  return out;
}

std::string words(const std::vector<std::string>& kinds) {
  std::string out;
  for (const std::string& kind : kinds) out += (out.empty() ? "" : " ") + kind;
  return out;
}

constexpr auto kExplainedModels = {"demo", "synthetic:tiny", "synthetic:tiny-gemma"};

}  // namespace

class ExplainTest : public QObject {
  Q_OBJECT
 private:
  /// The answer names these causes and no others, and leaves nothing over.
  void expect(const Writer& writer, const Written& cache, std::vector<std::string> kinds, const std::string& of,
              const std::vector<TokenId>& before = {}) {
    const auto answer = writer.explained(cache, before);
    QVERIFY2(answer, answer ? "" : answer.error().text().c_str());
    std::ranges::sort(kinds);
    const std::string said =
        of + ": " + words(kindsOf(*answer)) + " in place of " + words(kinds) + ": " + answer->verdict;
    QVERIFY2(kindsOf(*answer) == kinds, said.c_str());
    QVERIFY2(answer->outcome == (kinds.empty() ? ExplainOutcome::Equal : ExplainOutcome::Explained), said.c_str());
  }

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

  void shiftsOfSegmentsAreNamed() {
    const Writer writer("demo");
    const std::vector<TokenId> ids = writer.text(60);
    TokenRows rows = *tokenRows(writer.pass(ids));
    for (std::size_t row = 25; row < 60; ++row) rows.phases[row] += 3;
    expect(writer, writer.written(rows, ids), {"position_shift"}, "segment");
  }

  void staleRowsAreNamed() {
    const Writer writer("demo");
    const std::vector<TokenId> before = writer.text(40);
    std::vector<TokenId> ids = before;
    ids.erase(ids.begin() + 9, ids.begin() + 12);
    TokenRows rows = *tokenRows(writer.pass(before));
    const std::size_t width = at(writer.shape(1).width());
    for (auto* side : {&rows.keys, &rows.values})
      for (std::vector<float>& layer : *side)
        layer.erase(layer.begin() + std::ptrdiff_t(9 * width), layer.begin() + std::ptrdiff_t(12 * width));
    rows.phases.resize(ids.size());
    const Written cache = writer.written(rows, ids);
    expect(writer, cache, {"stale_rows"}, "stale", before);
    const auto answer = writer.explained(cache, before);
    QVERIFY(answer);
    QCOMPARE(answer->causes.front().parameters["position"].get<int>(), 9);
    // The same from the ids before the edit alone: the rows tell the text.
    Written old = cache;
    old.ids = before;
    expect(writer, old, {"stale_rows"}, "stale by the file's ids");
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
  }

  void textsAreAligned() {
    const Writer writer("demo");
    const Written clean = writer.clean(writer.text(40));
    const auto rows = [&](std::size_t from, std::size_t count) {
      Written out = clean;
      const std::size_t width = at(clean.shape.width());
      for (auto* side : {&out.keys, &out.values})
        for (std::vector<float>& layer : *side)
          layer = {layer.begin() + std::ptrdiff_t(from * width),
                   layer.begin() + std::ptrdiff_t((from + count) * width)};
      out.shape.rows = static_cast<std::int64_t>(count);
      return out;
    };
    expect(writer, rows(0, 30), {}, "a prefix");
    expect(writer, rows(15, 25), {}, "the last rows");
    Written cells = clean;  // in another order, which the file tells
    for (std::int32_t row = 0; row < 40; ++row)
      cells.positions.push_back(row < 4 ? 39 - row : row < 36 ? row : 39 - row);
    for (auto* side : {&cells.keys, &cells.values})
      for (std::vector<float>& layer : *side) {
        std::vector<float> moved = layer;
        for (std::size_t row = 0; row < 40; ++row)
          std::ranges::copy(cells.row(layer, at(cells.positions[row])), cells.row(moved, row).begin());
        layer = std::move(moved);
      }
    expect(writer, cells, {}, "slots");
    Written padded = clean;
    const std::size_t width = at(clean.shape.width());
    for (auto* side : {&padded.keys, &padded.values})
      for (std::vector<float>& layer : *side) layer.insert(layer.begin(), 3 * width, 0.25f);
    padded.shape.rows = 43;
    expect(writer, padded, {}, "padding on the left");
    const auto answer = writer.explained(padded);
    QVERIFY(answer);
    QCOMPARE(answer->without, 3 * static_cast<std::int64_t>(clean.keys.size()));
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
