// SPDX-License-Identifier: Apache-2.0
// Knocking rows out gives the probabilities of a session that lost the rows by hand, or never had them, and changes
// nothing.
#include <cmath>

#include "core/session/knock_out.h"
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
    QCOMPARE(found.tokens.size(), std::size_t{5});
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
    const Result<KnockOut> found = knockOut(*s, std::span(&row, 1), KnockOutBy::Eviction, 5);
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
    const Result<KnockOut> found = knockOut(*s, rows, KnockOutBy::Rebuild, 5);
    QVERIFY2(found, found ? "" : found.error().text().c_str());
    equalsLogits(*found, s.logits(), other.logits());
  }

  void refusesWhatIsNotThere() {
    const SessionFixture s;
    s.prompt(3);
    const std::vector<LedgerId> far{LedgerId(9)}, all{LedgerId(0), LedgerId(1), LedgerId(2)};
    QCOMPARE(knockOut(*s, far, KnockOutBy::Eviction, 5).error().code, std::string("out_of_range"));
    QCOMPARE(knockOut(*s, all, KnockOutBy::Rebuild, 5).error().code, std::string("empty"));
    QVERIFY(knockOut(*s, {}, KnockOutBy::Eviction, 5)->kl == 0);
  }
};

KV_TEST(KnockOutTest)
#include "knock_out_test.moc"
