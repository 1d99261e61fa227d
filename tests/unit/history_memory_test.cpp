// SPDX-License-Identifier: Apache-2.0
// History takes as much of the heap as history_bytes allows: measured at the allocator, beside the same session
// without a history.
#include <malloc.h>

#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

class HistoryMemoryTest : public QObject {
  Q_OBJECT
 private:
  /// Bytes of the heap in use; 0 where another allocator stands in.
  static std::int64_t used() {
    if (test::kSanitized) return 0;
    const struct mallinfo2 now = mallinfo2();
    return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
  }
  /// Heap bytes of a session after 3 000 ticks.
  static std::int64_t taken(json manifest, std::int64_t history) {
    manifest["history_bytes"] = history;
    const std::int64_t before = used();
    const SessionFixture s(manifest);
    s.prompt(60);
    s.must("run", {{"maxTicks", 3000}, {"reports", 1}});
    return used() - before;
  }

 private Q_SLOTS:
  void staysWithinItsBytes_data() {
    QTest::addColumn<QString>("manifest");
    QTest::newRow("culled") << R"({"brightness":{"compressor":"nearest","target":48}})";
    QTest::newRow("ring") << R"({"layout":"ring_fused","ring":{"window":48},"capacity":0})";
    QTest::newRow("policy") << R"({"policy":"h2o:ratio=0.5,window=8","layout":"paged:block=4","capacity":100})";
    QTest::newRow("by head") << R"({"policy":"snapkv:ratio=0.5,window=8","residency":"kv_head","capacity":100})";
  }
  void staysWithinItsBytes() {
    if (used() == 0) QSKIP("this allocator does not tell what it has given");
    QFETCH(QString, manifest);
    const json made = json::parse(manifest.toStdString());
    constexpr std::int64_t kAllowed = 12 << 20;
    const std::int64_t without = taken(made, 0), with = taken(made, kAllowed);
    qInfo("%.1f MiB of %.1f, beside %.1f without", double(with - without) / (1 << 20), double(kAllowed) / (1 << 20),
          double(without) / (1 << 20));
    QVERIFY2(with - without < kAllowed * 115 / 100, qPrintable(QString::number(with - without)));
    QVERIFY2(with - without > kAllowed / 3, qPrintable(QString::number(with - without)));
  }
};

KV_TEST(HistoryMemoryTest)
#include "history_memory_test.moc"
