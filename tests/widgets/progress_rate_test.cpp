// SPDX-License-Identifier: GPL-3.0-or-later
// Rates and the time that is left, as the status line shows them.
#include "fake_context.h"
#include "support/runner.h"
#include "widgets/base/job_list.h"

using namespace kvlab;

class ProgressRateTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void ratesAndTimes_data() {
    QTest::addColumn<qint64>("ms");
    QTest::addColumn<qint64>("done");
    QTest::addColumn<qint64>("total");
    QTest::addColumn<QString>("text");
    QTest::newRow("too early") << qint64{999} << qint64{50} << qint64{100} << "";
    QTest::newRow("nothing yet") << qint64{5000} << qint64{0} << qint64{100} << "";
    QTest::newRow("no total") << qint64{5000} << qint64{5} << qint64{0} << "1/s";
    QTest::newRow("seconds") << qint64{2000} << qint64{512} << qint64{8000} << "256/s, 29 s left";
    QTest::newRow("minutes") << qint64{10000} << qint64{100} << qint64{1000} << "10/s, 1 min 30 s left";
    QTest::newRow("hours") << qint64{4000} << qint64{1} << qint64{2001} << "0.25/s, 2 h 13 min left";
    QTest::newRow("done") << qint64{2000} << qint64{100} << qint64{100} << "50/s, 0 s left";
  }
  void ratesAndTimes() {
    QFETCH(qint64, ms);
    QFETCH(qint64, done);
    QFETCH(qint64, total);
    QTEST(ProgressRate::textAfter(ms, done, total), "text");
  }
  /// A run counts tokens.
  void aRunSaysTokens() {
    FakeContext context(FakeContext::Nothing{});
    JobList& jobs = JobList::of(context);
    const int run = jobs.begin({.name = "Run", .on = "demo"});
    jobs.report(run, "running", 0, 1'000'000);
    QTest::qWait(1050);
    jobs.report(run, "running", 40, 1'000'000);
    QCOMPARE(progressText(*jobs.find(run)), QString("40 tokens"));
    QVERIFY2(jobs.find(run)->rate.endsWith(" tokens/s"), qPrintable(jobs.find(run)->rate));
    jobs.report(run, "running", 41, 100);
    QCOMPARE(progressText(*jobs.find(run)), QString("41 of 100 tokens"));
    jobs.report(run, "reading rows", 5, 100);
    QCOMPARE(progressText(*jobs.find(run)), QString("5 of 100"));
  }
  void anotherPieceOfWorkBeginsAnew() {
    ProgressRate rate;
    QCOMPARE(rate.text("rows", 0, 100), QString());
    QTest::qWait(1100);
    QVERIFY(rate.text("rows", 50, 100).contains("left"));
    QCOMPARE(rate.text("layers", 50, 100), QString());
    QCOMPARE(rate.text("layers", 1, 100), QString());  // less than before
  }
};

KV_TEST(ProgressRateTest)
#include "progress_rate_test.moc"
