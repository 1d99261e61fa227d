// SPDX-License-Identifier: Apache-2.0
// The invariant visible_rows names a pass that writes over a row to which history goes back.
#include "core/check/checks.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;
using nlohmann::json;

class VisibleRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rowsOfTheStateBeforeAreSpared_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<bool>("found");
    QTest::newRow("slots") << QByteArray("{}") << true;
    QTest::newRow("no history") << QByteArray(R"({"history_bytes": 0})") << true;
    QTest::newRow("pages") << QByteArray(R"({"layout": "paged"})") << true;
    QTest::newRow("wLOD") << QByteArray(R"({"wlod": {"budget": 64}, "capacity": 0})") << false;
    QTest::newRow("in place") << QByteArray(R"({"layout": "contiguous_splice"})") << false;
    QTest::newRow("ring") << QByteArray(R"({"layout": "ring_pointer", "ring": {"window": 16}})") << false;
  }
  void rowsOfTheStateBeforeAreSpared() {
    QFETCH(QByteArray, manifest);
    QFETCH(bool, found);
    for (const int come : {1, 12}) {
      SessionFixture session(json::parse(manifest.toStdString()));
      session.prompt(40);
      const CacheState before = session->state();
      if (come == 1) session.must("step");
      else session.must("promptIds", {{"ids", json(std::vector<int>(static_cast<std::size_t>(come), 7))}});
      const std::span<const PassDeed> all = session->store().deeds().all();
      std::vector<PassDeed> deeds(all.begin(), all.end());
      QVERIFY(!deeds.empty() && !deeds.back().written.empty());
      const auto look = [&] {
        std::vector<Violation> out;
        Findings findings("visible_rows", out);
        checkVisibleRows({.state = session->state(),
                          .store = session->store(),
                          .manifest = session->manifest(),
                          .full = true,
                          .transformer = session->parts().transformer.get(),
                          .deeds = deeds,
                          .before = &before},
                         findings);
        return QString::fromStdString(out.empty() ? std::string() : out.front().detail);
      };
      QCOMPARE(look(), QString());
      const ResidencyView& was = before.group(deeds.back().layer).stored();
      deeds.back().written.back() = was.slotOf[was.size() - 2].value();
      const QString lost =
          QStringLiteral("was written over ledger row %1 of the state before, to which history goes back")
              .arg(was.ledger[was.size() - 2].value());
      QVERIFY2(look().contains(lost) == found, look().toUtf8());
    }
  }
};

KV_TEST(VisibleRowsTest)
#include "visible_rows_test.moc"
