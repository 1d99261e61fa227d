// SPDX-License-Identifier: GPL-3.0-or-later
// Compaction of pages as a job over the real engine: in steps, with progress, cancelled between two of
// them and gone on with, the content the same all along.
#include <QSignalSpy>

#include "app/engine/core_engine.h"
#include "app/jobs/compact_job.h"
#include "support/runner.h"
#include "support/script_call.h"

using namespace kvlab;
using nlohmann::json;

class CompactJobTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    const EngineFactory engines = coreEngines(KVLAB_RESOURCES_DIR);
    bool failed = false, done = false;
    auto session = std::make_shared<LiveSession>(
        engines({{"manifest", {{"model", "demo"}, {"backend", "cpu"}, {"layout", "paged:block=4"}}}}),
        [&](const Result<json>& reply) {
          failed = !reply;
          done = true;
        });
    QTRY_VERIFY(done);
    QVERIFY(!failed);
    m_context.show(session);
    run("prompt",
        {{"text",
          "anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower . "
          "dora waits in the garden . "
          "a cat sleeps all day . carl hides the gold ring in the barn ."}});
    json actions = json::array();
    for (int position = 2; position < 30; position += 4)
      actions.push_back({{"action", "delete"}, {"position", position}});
    run("inject", {{"actions", actions}});
    run("apply", json::object());
    QVERIFY(holes() > 2);
    m_text = run("text", json::object());
  }

  void cancelKeepsWhatIsDone() {
    const std::int64_t before = holes();
    JobList& jobs = m_context.jobs();
    const auto stop = connect(&jobs, &JobList::progressed, this, [this] { m_context.cancel(); });
    (new CompactJob(m_context, 1))->start();
    QTRY_VERIFY(jobs.running().empty());
    disconnect(stop);
    QCOMPARE(jobs.jobs().back().state, JobState::Stopped);
    QVERIFY2(jobs.jobs().back().how.contains("goes on from here"), qPrintable(jobs.jobs().back().how));
    QVERIFY(holes() > 0);
    QVERIFY(holes() <= before);
  }

  void goesOnToTheEnd() {
    QSignalSpy progress(&m_context.jobs(), &JobList::progressed);
    (new CompactJob(m_context, 2))->start();
    QTRY_COMPARE(holes(), 0);
    QTRY_VERIFY(m_context.jobs().running().empty());
    QCOMPARE(m_context.jobs().jobs().back().state, JobState::Done);
    QVERIFY2(progress.count() > 2, qPrintable(QString::number(progress.count())));
    QCOMPARE(run("text", json::object()), m_text);
    for (const json& one : run("invariants", json::object())) QVERIFY2(one.value("ok", false), one.dump().c_str());
  }

  void totalsCountAlikeLayersOnce() {
    Snapshot s;
    auto pages = std::make_shared<StorageView>();
    pages->pages = PageState{16, 10, 5, 40};
    s.storage = {pages, pages, std::make_shared<StorageView>()};
    QCOMPARE(pageTotals(s).used, 5);
    QCOMPARE(pageTotals(s).needed, 3);
    QCOMPARE(pageTotals(s).holes(), 2);
  }

 private:
  std::int64_t holes() { return m_context.catchUp(), pageTotals(*m_context.snapshot()).holes(); }
  json run(const std::string& verb, const json& args) {
    json out;
    bool done = false;
    const test::ScriptCall call = test::scriptCall(verb, args);
    m_context.submit(call.verb, call.args, this, [&](const Result<json>& reply) {
      QTest::qVerify(static_cast<bool>(reply), "reply", reply ? "" : reply.error().text().c_str(), __FILE__, __LINE__);
      out = reply ? call.read(*reply) : json();
      done = true;
    });
    const bool back = QTest::qWaitFor([&] { return done; }, 20000);
    QTest::qVerify(back, "done", (verb + " did not come back").c_str(), __FILE__, __LINE__);
    return out;
  }

  LiveContext m_context;
  json m_text;
};

KV_TEST(CompactJobTest)
#include "compact_job_test.moc"
