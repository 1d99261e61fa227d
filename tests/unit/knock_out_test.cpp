// SPDX-License-Identifier: Apache-2.0
// Knocking rows out gives the probabilities of a session that lost the rows by hand, or never had them, and changes
// nothing.
#include <algorithm>
#include <cmath>

#include "core/session/knock_out.h"
#include "core/session/tiles.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

class KnockOutTest : public QObject {
  Q_OBJECT
 private:
  /// ln p of a token, in double precision.
  static double lnP(const std::vector<float>& logits, TokenId id) {
    double most = -1e30, sum = 0;
    for (const float one : logits) most = std::max(most, double{one});
    for (const float one : logits) sum += std::exp(double{one} - most);
    return double{logits[static_cast<std::size_t>(id.value())]} - most - std::log(sum);
  }
  static void equalsLogits(const KnockOut& found, const std::vector<float>& with, const std::vector<float>& without) {
    QVERIFY(found.kl > 0);
    QVERIFY(found.tokens.size() >= std::size_t{5});
    const auto likeliest = std::ranges::max_element(without) - without.begin();
    QVERIFY(std::ranges::any_of(found.tokens, [&](const auto& one) { return one.id.value() == likeliest; }));
    for (const KnockOut::Token& one : found.tokens) {
      QCOMPARE(one.with, lnP(with, one.id));
      QCOMPARE(one.without, lnP(without, one.id));
    }
    QVERIFY(found.tokens[0].with >= found.tokens[4].with);
  }

 private Q_SLOTS:
  void equalsEvictionByHand_data() {
    QTest::addColumn<QString>("manifest");
    QTest::newRow("plain") << "{}";
    QTest::newRow("quantised") << R"({"kv":{"k":"int8","v":"int8"},"layout":"paged:block=4"})";
    QTest::newRow("ring") << R"({"layout":"ring_fused","ring":{"window":16}})";
    QTest::newRow("by head") << R"({"residency":"kv_head"})";
  }
  void equalsEvictionByHand() {
    QFETCH(QString, manifest);
    const SessionFixture s(json::parse(manifest.toStdString())), other(json::parse(manifest.toStdString()));
    for (const SessionFixture* one : {&s, &other}) {
      one->prompt(24);
      one->must("step", {{"n", 4}});
    }
    const LedgerId row(19);
    const std::string hash = s.hash();
    const Result<KnockOut> found = knockOut(*s, {{row}, KnockOutBy::Eviction, 5});
    QVERIFY2(found, found ? "" : found.error().text().c_str());
    QCOMPARE(s.hash(), hash);
    const bool byHead = other->cacheLayers().byHead();
    for (int layer = 0; layer < other->cacheLayers().layers; ++layer)
      for (int head = 0; head < (byHead ? other->cacheLayers().perLayer : 1); ++head) {
        json args{{"layer", layer}, {"ledger", {row.value()}}, {"now", true}};
        if (byHead) args["kvHead"] = head;
        other.must("evict", args);
      }
    equalsLogits(*found, s.logits(), other.logits());
  }

  /// As if the text had never had the rows, bit for bit.
  void equalsATextWithoutThem() {
    const SessionFixture s, other;
    std::vector<int> ids = SessionFixture::ids(30);
    s.must("promptIds", {{"ids", ids}});
    ids.erase(ids.begin() + 20);
    ids.erase(ids.begin() + 7);
    other.must("promptIds", {{"ids", ids}});
    const std::vector<LedgerId> rows{LedgerId(20), LedgerId(7)};
    const Result<KnockOut> found = knockOut(*s, {rows, KnockOutBy::Rebuild, 5});
    QVERIFY2(found, found ? "" : found.error().text().c_str());
    equalsLogits(*found, s.logits(), other.logits());
  }

  /// Each row alone has the figures of a question about that row; readers see them until the state changes.
  void hidesRowsOneByOne() {
    const SessionFixture s;
    s.prompt(20);
    s.must("step", {{"n", 2}});
    const std::string hash = s.hash();
    const std::vector<LedgerId> rows{LedgerId(3), LedgerId(11), LedgerId(18)};
    const json said = s.must("knockOut", {{"ledger", {3, 11, 18}}, {"each", true}});
    QCOMPARE(said["each"].size(), rows.size());
    auto tile = kvlab::tile(*s, {.quantity = Quantity::KnockOut, .layer = CacheLayer(1)});
    QVERIFY(tile);
    const Tile map = *(*tile)->take();
    const std::shared_ptr<const KnockOut> seen = s->snapshot()->knockOut;
    QVERIFY(seen && seen->rows == rows && seen->each.size() == 3);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const json alone = s.must("knockOut", {{"ledger", {rows[i].value()}}});
      QCOMPARE(said["each"][i]["kl"], alone["kl"]);
      QCOMPARE(map.values[static_cast<std::size_t>(rows[i].value())], static_cast<float>(alone["kl"].get<double>()));
      double best = -1e9;
      int likeliest = -1;
      for (const json& token : alone["tokens"])
        if (token["without"].get<double>() > best) best = token["without"], likeliest = token["id"];
      QCOMPARE(said["each"][i]["id"], likeliest);
    }
    QVERIFY(std::isnan(map.values[4]));
    QCOMPARE(s.hash(), hash);
    s.must("knockOut", {{"ledger", json::array()}});
    QVERIFY(!s->snapshot()->knockOut);
    s.must("knockOut", {{"ledger", {3}}});
    QVERIFY(s->snapshot()->knockOut && s->snapshot()->knockOut->each.empty());
    s.must("step", {});
    QVERIFY(!s->snapshot()->knockOut);
  }

  /// A person who stops it finds everything as it was.
  void stops() {
    const SessionFixture s;
    s.prompt(12);
    s->setProgress([](const std::string&, std::int64_t done, std::int64_t) { return done < 2; });
    const Result<KnockOut> found =
        measureKnockOut(*s, {{LedgerId(1), LedgerId(2), LedgerId(3), LedgerId(4)}, KnockOutBy::Eviction, 5, true});
    QCOMPARE(found ? std::string() : found.error().code, std::string("cancelled"));
    QVERIFY(!s->snapshot()->knockOut);
  }

  void refusesWhatIsNotThere() {
    const SessionFixture s;
    s.prompt(3);
    const std::vector<LedgerId> far{LedgerId(9)}, all{LedgerId(0), LedgerId(1), LedgerId(2)};
    QCOMPARE(knockOut(*s, {far, KnockOutBy::Eviction, 5}).error().code, std::string("out_of_range"));
    QCOMPARE(knockOut(*s, {all, KnockOutBy::Rebuild, 5}).error().code, std::string("empty"));
    QVERIFY(knockOut(*s, {{}, KnockOutBy::Eviction, 5})->kl == 0);
  }
};

KV_TEST(KnockOutTest)
#include "knock_out_test.moc"
