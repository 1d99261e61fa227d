// SPDX-License-Identifier: Apache-2.0
// The search for what is wrong with a cache: rows that belong to other texts, to other places or to nothing.
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

namespace {

/// Takes tokens 9 to 11 out of a text, and their rows out of those that were computed from the whole text.
TokenRows withoutThree(const Writer& writer, std::vector<TokenId>& ids) {
  TokenRows rows = *tokenRows(writer.pass(ids));
  ids.erase(ids.begin() + 9, ids.begin() + 12);
  const std::size_t width = at(writer.shape(1).width());
  for (auto* side : {&rows.keys, &rows.values})
    for (std::vector<float>& layer : *side)
      layer.erase(layer.begin() + std::ptrdiff_t(9 * width), layer.begin() + std::ptrdiff_t(12 * width));
  rows.phases.resize(ids.size());
  return rows;
}

}  // namespace

class ExplainRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void staleRowsAreNamed() {
    const Writer writer("demo");
    const std::vector<TokenId> before = writer.text(40);
    std::vector<TokenId> ids = before;
    const TokenRows rows = withoutThree(writer, ids);
    const Written cache = writer.written(rows, ids);
    expect(writer, cache, {"stale_rows"}, "stale", before);
    const auto answer = writer.explained(cache, before);
    QVERIFY(answer);
    QCOMPARE(answer->causes.front().parameters["position"].get<int>(), 9);
    // Nobody gives the text before: this much is said, and not that it is explained.
    const auto alone = writer.explained(cache);
    QVERIFY(alone);
    QVERIFY2(alone->outcome == ExplainOutcome::Unexplained && alone->verdict.starts_with("explained in part: "),
             alone->verdict.c_str());
    QCOMPARE(alone->causes.front().kind, std::string("stale_rows"));
    QVERIFY(!alone->causes.front().parameters["verified"].get<bool>());
    QCOMPARE(alone->causes.front().parameters["position"].get<int>(), 9);
    QCOMPARE(alone->begins->token, 9);
    // The same from the ids before the edit alone: the rows tell the text.
    Written old = cache;
    old.ids = before;
    expect(writer, old, {"stale_rows"}, "stale by the file's ids");
  }

  /// A text that repeats itself: its ids alone do not tell which tokens went. Tokens follow that were computed behind
  /// the shift, the last of the old ones once more.
  void shiftsOfTheContextAreNamed() {
    const Writer writer("demo");
    const std::vector<TokenId> part = writer.text(16), more = writer.text(24);
    std::vector<TokenId> before, ids;
    for (int i = 0; i < 3; ++i) before.insert(before.end(), part.begin(), part.end());
    RowStage first{0, 48, std::vector<std::int32_t>(48), {}};
    std::iota(first.rows.begin(), first.rows.end(), 0);
    first.phases = first.rows;
    std::vector<TokenId> all = before;
    RowStage second{48, 54, {0, 1, 2, 3}, {}};
    for (std::int32_t row = 26; row < 47; ++row) second.rows.push_back(row);
    all.push_back(before.back());
    all.insert(all.end(), more.begin() + 16, more.begin() + 21);
    for (std::int32_t row = 48; row < 54; ++row) second.rows.push_back(row);
    second.phases.resize(second.rows.size());
    std::iota(second.phases.begin(), second.phases.end(), 0);
    for (const std::int32_t row : second.rows) ids.push_back(all[at(row)]);
    const std::vector<std::int32_t> rows = second.rows;
    TokenPass pass = writer.pass(all);
    pass.stages = {first, second};
    const TokenRows computed = *tokenRows(pass);
    TokenRows left;
    const std::size_t width = at(writer.shape(1).width());
    for (const auto& [from, to] : {std::pair(&computed.keys, &left.keys), std::pair(&computed.values, &left.values)})
      for (const std::vector<float>& layer : *from) {
        to->emplace_back();
        for (const std::int32_t row : rows)
          to->back().insert(to->back().end(), layer.begin() + std::ptrdiff_t(at(row) * width),
                            layer.begin() + std::ptrdiff_t((at(row) + 1) * width));
      }
    for (std::size_t i = 0; i < rows.size(); ++i) left.phases.push_back(static_cast<double>(i));
    for (const char* type : {"f32", "f16"}) {
      const Written cache = writer.written(left, ids, type);
      const auto answer = writer.explained(cache, before);
      QVERIFY(answer);
      QCOMPARE(name(answer->outcome), std::string_view("explained"));
      const json& said = answer->causes.front().parameters;
      QCOMPARE(answer->causes.front().kind, std::string("stale_rows"));
      QCOMPARE(said["position"], json(4));
      QCOMPARE(said["deleted"].size(), std::size_t{22});
      QCOMPARE(said["deleted"].front(), json(4));
      QCOMPARE(said["computed"], json({25, 26, 27, 28, 29, 30}));
    }
  }

  /// A layer lacks rows that the others have, and the file gives no positions.
  void holesOfALayerAreFound() {
    const Writer writer("demo");
    Written cache = writer.clean(writer.text(40));
    const std::ptrdiff_t width = cache.shape.width();
    ForeignCache file = cache.cache();
    for (const auto& [layer, gone] : {std::pair(1, std::vector{3, 4, 20}), {2, std::vector{9, 10, 30}}}) {
      std::vector<float>&keys = cache.keys[at(layer)], &values = cache.values[at(layer)];
      for (const int row : gone | std::views::reverse)
        for (std::vector<float>* all : {&keys, &values})
          all->erase(all->begin() + row * width, all->begin() + (row + 1) * width);
      ForeignLayer& one = file.layers[at(layer)];
      one.rows = 37;
      one.keys.read = [keys] { return Result<std::vector<float>>(keys); };
      one.values.read = [values] { return Result<std::vector<float>>(values); };
    }
    const auto answer = explainCache(file, {{"model", "demo"}}, KVLAB_RESOURCES_DIR, {});
    QVERIFY2(answer, answer ? "" : answer.error().text().c_str());
    QVERIFY2(answer->outcome == ExplainOutcome::Explained, answer->verdict.c_str());
    QCOMPARE(words(kindsOf(*answer)), std::string("missing_rows missing_rows"));
    QCOMPARE(answer->causes[0].parameters["tokens"].dump(), std::string("[3,4,20]"));
    QCOMPARE(answer->causes[1].parameters["layers"].dump(), std::string("[2]"));
  }

  /// Each cause says where its rows lie, and the answer where those lie that no cause accounts for.
  void causesSayWhereTheyShow() {
    const Writer writer("demo");
    using List = std::vector<std::int32_t>;
    const auto from = [](std::int32_t first, std::int32_t end) {
      List out(at(end - first));
      std::iota(out.begin(), out.end(), first);
      return out;
    };
    const std::int32_t layers = writer.config().layers, heads = writer.config().kvHeads;
    const std::vector<TokenId> before = writer.text(60);
    Written cache = writer.clean(before);
    const std::span<float> row = cache.row(cache.values[2], 7);
    std::fill_n(row.begin(), at(cache.shape.dim), 0.0f);
    auto answer = writer.explained(cache);
    QVERIFY(answer);
    QCOMPARE(words(kindsOf(*answer)), std::string("zero_rows"));
    const RowReach& zero = answer->causes.front().reach;
    QVERIFY(zero.layers == List{2} && zero.heads == List{0} && zero.tokens == List{7} && answer->unexplained.empty());
    QCOMPARE(toJson(*answer)["causes"][0]["reach"],
             json({{"layers", {{2, 2}}}, {"heads", {{0, 0}}}, {"tokens", {{7, 7}}}}));
    QCOMPARE(toJson(*answer)["unexplained"], json());

    TokenRows shifted = *tokenRows(writer.pass(before));
    for (std::size_t i = 25; i < 60; ++i) shifted.phases[i] += 3;
    answer = writer.explained(writer.written(shifted, before));
    QVERIFY(answer);
    QCOMPARE(words(kindsOf(*answer)), std::string("position_shift"));
    QVERIFY(answer->causes.front().reach.tokens == from(25, 60));
    QVERIFY(answer->causes.front().reach.layers == from(0, layers));
    QVERIFY(answer->causes.front().reach.heads == from(0, heads));

    // Stale rows: the figures tell, and layer 0 has none.
    std::vector<TokenId> ids = before;
    const TokenRows rows = withoutThree(writer, ids);
    for (const bool told : {true, false}) {
      answer = writer.explained(writer.written(rows, ids), told ? before : std::vector<TokenId>());
      QVERIFY(answer);
      const RowReach& stale = answer->causes.front().reach;
      QVERIFY(stale.layers == from(1, layers));
      QVERIFY(stale.tokens.front() == 9 && stale.tokens.size() > 40);
      QCOMPARE(answer->unexplained.empty(), told);
      if (!told) QVERIFY(answer->unexplained.tokens == stale.tokens);
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

  /// A stream that f16 cannot hold, as that of Gemma 3, gives bounds all the same.
  void boundsBeyondF16AreFinite() {
    const json manifest = {{"model", "synthetic:tiny-gemma"}};
    const auto session = openSession(*Manifest::fromJson(manifest), KVLAB_RESOURCES_DIR);
    QVERIFY(session);
    ModelConfig config = (*session)->model().config();
    config.embeddingScale *= 1e7;
    TokenPass pass;
    pass.weights = PlacedWeights::withConfig((*session)->parts().weights, config);
    pass.backend = (*session)->parts().backend.get();
    for (int i = 0; i < 20; ++i) pass.ids.push_back(TokenId(4 + i));
    float most = 0;
    pass.between = [&](Layer, std::int64_t, std::span<float> x) {
      for (const float value : x) most = std::max(most, std::abs(value));
    };
    const auto rows = tokenRows(pass);
    QVERIFY(rows);
    QVERIFY2(most > 65504, std::to_string(most).c_str());
    SideReading keys, values;
    values.side = values.source = Side::Values;
    const StoredType* half = storedType("f16");
    const RowRounding rounding(config, keys, values, half, half, rows->phases, 20);
    const auto bounds = rowBounds(pass, *rows, rounding, half, true);
    QVERIFY(bounds);
    for (const auto* side : {&bounds->keys, &bounds->values})
      for (const std::vector<float>& layer : *side)
        for (const float bound : layer) QVERIFY2(bound > 0 && bound < 0.1f, std::to_string(bound).c_str());
  }

  void shiftsOfSegmentsAreNamed() {
    const Writer writer("demo");
    const std::vector<TokenId> ids = writer.text(60);
    TokenRows rows = *tokenRows(writer.pass(ids));
    for (std::size_t row = 25; row < 60; ++row) rows.phases[row] += 3;
    expect(writer, writer.written(rows, ids), {"position_shift"}, "segment");
  }
};

KV_TEST(ExplainRowsTest)
#include "explain_rows_test.moc"
