// SPDX-License-Identifier: Apache-2.0
// Values of a row against the values of a rebuild and of the state before, and attention by query against decoding,
// against the scores of q and K in double, and in every kind of session.
#include "support/session_fixture.h"

#include <cmath>

#include "core/session/tiles.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

using Floats = std::vector<float>;
using Lines = std::vector<Floats>;

float weightAt(const json& matrix, std::size_t head, std::size_t query, std::size_t position) {
  const auto queries = matrix["end"].get<std::size_t>() - matrix["begin"].get<std::size_t>();
  const json& value = matrix["values"][(head * queries + query) * matrix["length"].get<std::size_t>() + position];
  return value.is_null() ? NAN : value.get<float>();
}

/// Sum of a line, with the query's attention to its own row if the layer lacks it.
double sumOf(const json& matrix, std::size_t head, std::size_t query) {
  const auto queries = matrix["end"].get<std::size_t>() - matrix["begin"].get<std::size_t>();
  double sum = matrix["own"][head * queries + query].get<double>();
  for (std::size_t p = 0; p < matrix["length"].get<std::size_t>(); ++p)
    if (const float one = weightAt(matrix, head, query, p); !std::isnan(one)) sum += double(one);
  return sum;
}

json replacedAt(int position, int token) {
  return {{"actions", {{{"action", "replace"}, {"positions", {position}}, {"new_token_ids", {token}}}}}, {"now", true}};
}

}  // namespace

class RowValuesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void queriesAreThoseOfDecoding_data() {
    QTest::addColumn<QString>("changes");
    QTest::newRow("plain") << "{}";
    QTest::newRow("gemma") << R"({"model":"synthetic:tiny-gemma"})";
    QTest::newRow("odd heads") << R"({"model":"synthetic:tiny-odd","kv":{"k":"fp8-e4m3","v":"int8"}})";
    QTest::newRow("int8") << R"({"kv":{"k":"int8","v":"int8"}})";
    QTest::newRow("at write") << R"({"key_phase":"at_write"})";
    QTest::newRow("cache positions") << R"({"position":"cache"})";
  }
  /// Nothing has changed since the queries were decoded: each attends as it did then, bit for bit.
  void queriesAreThoseOfDecoding() {
    QFETCH(QString, changes);
    SessionFixture s(json::parse(changes.toStdString()));
    std::vector<std::vector<Lines>> seen;  // [queries][layers][heads][rows]
    const int layers = s->cacheLayers().layers;
    for (const int id : SessionFixture::ids(20)) {
      s.must(seen.empty() ? "promptIds" : "step", {{seen.empty() ? "ids" : "tokens", {id}}});
      std::vector<Lines>& query = seen.emplace_back();
      for (int l = 0; l < layers; ++l) query.push_back(s.must("attention", {{"layer", l}}).get<Lines>());
    }
    const std::string before = s.hash();
    for (int l = 0; l < layers; ++l) {
      const json matrix = s.must("attentionMatrix", {{"layer", l}, {"begin", 0}});
      const std::size_t heads = matrix["heads"].size();
      QCOMPARE(heads, seen[0][static_cast<std::size_t>(l)].size());
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t q = 0; q < seen.size(); ++q) {
          for (std::size_t p = 0; p <= q; ++p)
            QCOMPARE(weightAt(matrix, h, q, p), seen[q][static_cast<std::size_t>(l)][h][p]);
          for (std::size_t p = q + 1; p < seen.size(); ++p) QCOMPARE(weightAt(matrix, h, q, p), 0.0f);
          QVERIFY(std::abs(sumOf(matrix, h, q) - 1) < 1e-5);
        }
      const json one = s.must("attentionMatrix", {{"layer", l}, {"begin", 5}, {"end", 9}, {"head", 1}});
      for (std::size_t q = 0; q < 4; ++q)
        for (std::size_t p = 0; p < seen.size(); ++p) QCOMPARE(weightAt(one, 0, q, p), weightAt(matrix, 1, q + 5, p));
    }
    QCOMPARE(s.hash(), before);
  }

  /// Rows that have left a ring are no columns any more; the newest query attends as the tick's own pass did.
  void ringsShowWhatIsLeft() {
    SessionFixture s(
        {{"model", KVLAB_TESTS_DIR "/oracle/models/mistral_window_f32"}, {"dtype", "f32"}, {"layout", "ring_fused"}});
    std::vector<int> ids = SessionFixture::ids(60);
    for (int& id : ids) id %= s->model().config().vocab;
    s.must("promptIds", {{"ids", ids}});
    const std::int32_t first = s->state().map(CacheLayer(0)).first;
    QVERIFY(first > 0);
    const json matrix = s.must("attentionMatrix", {{"layer", 0}, {"begin", 0}});
    const Lines newest = s.must("attention", {{"layer", 0}}).get<Lines>();
    for (std::size_t h = 0; h < newest.size(); ++h)
      for (std::size_t q = 0; q < 60; ++q) {
        QVERIFY2(std::abs(sumOf(matrix, h, q) - 1) < 1e-5, qPrintable(QString::number(q)));
        QCOMPARE(std::isnan(weightAt(matrix, h, 59, q)), static_cast<std::int32_t>(q) < first);
        if (static_cast<std::int32_t>(q) >= first) QCOMPARE(weightAt(matrix, h, 59, q), newest[h][q]);
      }
  }

  void evictedRowsAreNotSeen() {
    SessionFixture s;
    s.prompt(24);
    s.must("inject", {{"actions", {{{"action", "evict"}, {"layer", 1}, {"ledger", {3, 4}}}}}, {"now", true}});
    const json matrix = s.must("attentionMatrix", {{"layer", 1}, {"begin", 2}, {"end", 24}});
    for (std::size_t h = 0; h < matrix["heads"].size(); ++h)
      for (std::size_t q = 0; q < 22; ++q) {
        QVERIFY(std::isnan(weightAt(matrix, h, q, 3)) && std::isnan(weightAt(matrix, h, q, 4)));
        QVERIFY2(std::abs(sumOf(matrix, h, q) - 1) < 1e-5, qPrintable(QString::number(q)));
      }
    // A query whose row the layer lacks gives the missing attention to its own row.
    QVERIFY(matrix["own"][1].get<double>() > 0);
    QCOMPARE(matrix["own"][10].get<double>(), 0.0);
  }

  void theNewestLineIsTheTile() {
    SessionFixture s;
    s.prompt(30);
    s.must("step", {{"n", 3}});
    for (int l = 0; l < s->cacheLayers().layers; ++l) {
      const auto tile = kvlab::tile(*s.session, {Quantity::Attention, CacheLayer(l)});
      QVERIFY(tile);
      const Tile mean = *(*tile)->take();
      const json matrix = s.must("attentionMatrix", {{"layer", l}});
      QCOMPARE(matrix["begin"].get<int>(), 32);
      for (std::size_t p = 0; p < mean.values.size(); ++p) {
        double sum = 0;
        for (std::size_t h = 0; h < matrix["heads"].size(); ++h) sum += double(weightAt(matrix, h, 0, p));
        QVERIFY(std::abs(sum / static_cast<double>(matrix["heads"].size()) - double(mean.values[p])) < 1e-6);
      }
    }
  }

  /// gpt-oss gives a part of each head's attention to a sink that is no row.
  void sinksTakeTheirPart() {
    SessionFixture s({{"model", KVLAB_TESTS_DIR "/oracle/models/gpt_oss_f32"}, {"capacity", 64}});
    s.must("promptIds", {{"ids", {5, 9, 12, 7, 3}}});
    const json matrix = s.must("attentionMatrix", {{"layer", 0}, {"begin", 0}});
    const double sum = sumOf(matrix, 0, 2);
    QVERIFY(sum > 0 && sum < 0.9999);
  }

  /// A wLOD session has no attention of summaries, and tokens attend to the rows of their coverage.
  void worksInTrees() {
    SessionFixture s(
        {{"capacity", 0},
         {"wlod", {{"budget", 96}, {"protect", 16}, {"every", 8}, {"start_tokens", 64}, {"w", 32}, {"w2", 1024}}}});
    s.prompt(200);
    const json matrix = s.must("attentionMatrix", {{"layer", 0}, {"begin", 0}});
    int summaries = 0;
    for (std::size_t q = 0; q < matrix["length"].get<std::size_t>(); ++q) {
      if (std::isnan(weightAt(matrix, 0, q, 0))) ++summaries;
      else QVERIFY2(std::abs(sumOf(matrix, 0, q) - 1) < 1e-4, qPrintable(QString::number(q)));
    }
    QVERIFY(summaries > 0);
    const json row = s.must("row", {{"layer", 1}, {"index", 0}, {"which", "both"}, {"compare", "rebuild"}});
    for (const json& head : row["v"]["relative"]) QCOMPARE(head.get<double>(), 0.0);
  }

  void headsAloneAreAsked() {
    SessionFixture s(json{{"residency", "kv_head"}});
    s.prompt(12);
    const json own = s.must("attentionMatrix", {{"layer", 1}, {"kvHead", 1}});
    SessionFixture whole;
    whole.prompt(12);
    const json all = whole.must("attentionMatrix", {{"layer", 1}});
    const std::size_t group = own["heads"].size();
    for (std::size_t h = 0; h < group; ++h)
      for (std::size_t p = 0; p < 12; ++p) QCOMPARE(weightAt(own, h, 0, p), weightAt(all, group + h, 0, p));
  }

  void refusals() {
    SessionFixture s;
    QCOMPARE(s.verb("attentionMatrix", {{"layer", 0}}).error().code, std::string("empty"));
    s.prompt(4);
    QCOMPARE(s.verb("attentionMatrix", {{"layer", 0}, {"begin", 3}, {"end", 5}}).error().field, std::string("end"));
    QCOMPARE(s.verb("attentionMatrix", {{"layer", 0}, {"head", 64}}).error().field, std::string("head"));
    QCOMPARE(s.verb("row", {{"layer", 0}, {"index", 0}, {"compare", "x"}}).error().field, std::string("compare"));
    QCOMPARE(s.must("attentionMatrix", {{"layer", 0}, {"begin", 4}})["values"].size(), std::size_t{0});
    SessionFixture wide({{"capacity", 2000}, {"staging", 64}});
    wide.prompt(1500);
    const Result<json> refused = wide.verb("attentionMatrix", {{"layer", 0}, {"begin", 0}});
    QCOMPARE(refused.error().code, std::string("too_large"));
    QVERIFY(QString::fromStdString(refused.error().why).contains("4194304"));
    int asked = 0;
    wide->setProgress([&](const std::string&, std::int64_t done, std::int64_t) { return ++asked, done < 3; });
    QCOMPARE(wide.verb("attentionMatrix", {{"layer", 0}, {"begin", 1400}}).error().code, std::string("cancelled"));
    QCOMPARE(asked, 4);
  }

  /// The row verb's difference to a rebuild is the drift that a measurement finds, row by row.
  void aRebuildShowsTheDrift_data() {
    QTest::addColumn<QString>("changes");
    QTest::newRow("f32") << "{}";
    QTest::newRow("int8") << R"({"kv":{"k":"int8","v":"int8"}})";
    QTest::newRow("by head") << R"({"residency":"kv_head"})";
    QTest::newRow("at write") << R"({"key_phase":"at_write"})";
  }
  void aRebuildShowsTheDrift() {
    QFETCH(QString, changes);
    SessionFixture s(json::parse(changes.toStdString()));
    s.prompt(20);
    s.must("inject", replacedAt(5, 77));
    const json drift = s.must("drift", {{"rows", true}});
    const std::string before = s.hash();
    const bool byHead = s->cacheLayers().byHead();
    double most = 0;
    for (const CacheLayer own : s->state().layers())
      for (int index : {2, 5, 9, 19}) {
        json args{{"layer", s->cacheLayers().layerOf(own).value()},
                  {"index", index},
                  {"which", "both"},
                  {"compare", "rebuild"}};
        if (byHead) args["kvHead"] = s->cacheLayers().headOf(own)->value();
        const json row = s.must("row", args);
        for (const char* which : {"k", "v"}) {
          double apart = 0, of = 0;
          const Floats is = row[which]["data"], other = row[which]["other"];
          for (std::size_t i = 0; i < is.size(); ++i) {
            apart += std::pow(double(is[i]) - double(other[i]), 2);
            of += std::pow(double(other[i]), 2);
          }
          const double found = drift[which == std::string("k") ? "kRows" : "vRows"]
                                    [static_cast<std::size_t>(own.value())][static_cast<std::size_t>(index)]
                                        .get<double>();
          QVERIFY2(std::abs(std::sqrt(apart / of) - found) < 1e-5, which);
          most = std::max(most, found);
        }
      }
    QVERIFY(most > 0.01);
    QCOMPARE(s.hash(), before);
  }

  void normsScalesAndTypes() {
    SessionFixture s(json{{"kv", {{"k", "int8"}, {"v", "f32"}}}});
    s.prompt(6);
    const json row = s.must("row", {{"layer", 1}, {"index", 3}, {"which", "both"}});
    QCOMPARE(row["k"]["type"].get<std::string>(), std::string("int8"));
    QCOMPARE(row["v"]["scales"], json());
    const std::size_t heads = row["shape"][0], dim = row["shape"][1];
    const Floats k = row["k"]["data"];
    for (std::size_t h = 0; h < heads; ++h) {
      double sum = 0, most = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        sum += double(k[h * dim + i]) * double(k[h * dim + i]);
        most = std::max(most, std::abs(double(k[h * dim + i])));
      }
      QVERIFY(std::abs(std::sqrt(sum) - row["k"]["norms"][h].get<double>()) < 1e-9);
      QVERIFY(std::abs(most / 127 - row["k"]["scales"][h].get<double>()) < 1e-7 * most);
    }
    QCOMPARE(row, s.must("row", {{"layer", 1}, {"index", 3}, {"which", "both"}}));
    QCOMPARE(s.must("row", {{"layer", 1}, {"index", 3}})["data"], row["k"]["data"]);
  }

  /// The tick before, in every layout: rows that an edit shifted or computed again, and those that it left alone.
  void theTickBefore_data() {
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QString>("rule");
    for (const char* layout :
         {"indirection", "contiguous_splice", "batch_splice", "boolean_gather", "paged", "ring_fused"})
      for (const char* rule : {"keep", "recompute"}) QTest::addRow("%s %s", layout, rule) << layout << rule;
  }
  void theTickBefore() {
    QFETCH(QString, layout);
    QFETCH(QString, rule);
    SessionFixture s({{"layout", layout.toStdString()}, {"after_edit", rule.toStdString()}});
    s.prompt(20);
    const auto values = [&](int index) { return s.must("row", {{"layer", 1}, {"index", index}, {"which", "both"}}); };
    std::vector<json> was;
    for (int i = 0; i < 20; ++i) was.push_back(values(i));
    s.must("inject",
           {{"actions",
             {{{"action", "delete"}, {"position", 4}},
              {{"action", "replace"}, {"positions", {9}}, {"new_token_ids", {50}}}}},
            {"now", true}});
    int changed = 0;
    for (int i = 0; i < 19; ++i) {
      const json row = s.must("row", {{"layer", 1}, {"index", i}, {"which", "both"}, {"compare", "before"}});
      const int old = i < 4 ? i : i + 1;
      if (old == 9) {  // the new token
        QCOMPARE(row["compared"]["there"], json(false));
        QVERIFY(!row["k"].contains("other"));
        continue;
      }
      QCOMPARE(row["v"]["other"], was[static_cast<std::size_t>(old)]["v"]["data"]);
      QCOMPARE(row["compared"]["tick"].get<int>() + 1, static_cast<int>(s->state().tick.value()));
      changed += row["v"]["relative"][0].get<double>() > 0;
    }
    QCOMPARE(changed > 0, rule == "recompute");
  }

  void noTickBefore() {
    SessionFixture s(json{{"history_bytes", 0}});
    s.prompt(6);
    s.must("step");
    const Result<json> row = s.verb("row", {{"layer", 0}, {"index", 1}, {"compare", "before"}});
    QCOMPARE(row.error().code, std::string("not_kept"));
  }
};

KV_TEST(RowValuesTest)
#include "row_values_test.moc"
