// SPDX-License-Identifier: GPL-3.0-or-later
// Jobs of the window over the real engine: the job that Cancel ends, the end of jobs and its message, and the question
// of the window before it closes while jobs work.
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QToolButton>

#include "app/base/outcome.h"
#include "app/whole_window.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class JobsTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_folder;
  std::unique_ptr<MainWindow> m_window;

  LiveContext& context() { return m_window->context(); }
  JobList& jobs() { return context().jobs(); }
  void make(bool headless, const json& manifest = {{"model", "demo"}, {"threads", 1}}) {
    m_window.reset();
    m_window = test::wholeWindow(test::wholeSettings(headless));
    QVERIFY(test::openIn(*m_window, manifest));
  }
  void command(const char* id, const json& args = json::object()) {
    const Status done = m_window->runCommand(id, args);
    QVERIFY2(bool(done), done ? "" : done.error().text().c_str());
  }
  void prompt(const char* text = "anna puts the silver key in the cellar . where is the silver key ?") {
    command("prompt", {{"text", text}});
    QTRY_VERIFY_WITH_TIMEOUT(!context().busy(), 20000);
  }
  /// Cells without end: each takes a while.
  void beginSweep() {
    const std::string prompts = std::string(KVLAB_RESOURCES_DIR) + "/prompts/recall-512.json";
    json ratios = json::array();
    for (int percent = 1; percent <= 99; ++percent) ratios.push_back(percent / 100.0);
    m_window->sweeps().start(
        {{"spec",
          {{"name", "endless"},
           {"base", {{"model", "demo"}}},
           {"axes",
            json::array({{{"name", "policy"}, {"key", "policy"}, {"values", {"random", "knorm", "h2o", "snapkv"}}},
                         {{"name", "budget"}, {"budget", "ratio"}, {"values", ratios}}})},
           {"seeds", {1, 2, 3}},
           {"prompts", json::array({{{"name", "recall-512"}, {"file", prompts}, {"ask", "after"}}})}}},
         {"out", m_folder.filePath("endless.sweep").toStdString()},
         {"jobs", 1}},
        [this](const Result<json>& r) { m_sweepError = r ? "" : r.error().text(); });
    QTRY_VERIFY2(running("Sweep endless"), m_sweepError.c_str());
  }
  bool running(const QString& name) {
    for (const Job* job : jobs().running())
      if (job->name == name) return true;
    return false;
  }
  QString howOf(const QString& name) {
    QString how;
    for (const Job& job : jobs().jobs())
      if (job.name == name) how = job.how;
    return how;
  }
  QString said() { return m_window->status().findChild<QLabel*>("status_said")->text(); }
  std::string m_sweepError;

 private Q_SLOTS:
  void initTestCase() { QVERIFY(test::ownSettings(m_folder)); }
  void cleanup() { m_window.reset(); }

  void escCancelsWhatIsInFront() {
    make(true);
    prompt();
    beginSweep();
    command("break_set", {{"conditions", json::array()}});
    QTRY_VERIFY(!context().busy());
    command("step", {{"n", 1000000}});
    QTRY_VERIFY(running("Step"));
    QTRY_VERIFY(context().snapshot()->tick.value() > 2);
    QTest::keyClick(m_window.get(), Qt::Key_Escape);
    QTRY_VERIFY_WITH_TIMEOUT(!running("Step"), 20000);
    const int sweep = jobs().front()->number;
    const qint64 cells = jobs().front()->done;
    QTRY_VERIFY2_WITH_TIMEOUT(jobs().find(sweep)->done > cells + 1, "Esc stopped the sweep beside the run", 60000);
    QTest::keyClick(m_window.get(), Qt::Key_Escape);
    QTRY_VERIFY_WITH_TIMEOUT(!running("Sweep endless"), 60000);
    QVERIFY2(howOf("Sweep endless").startsWith("Stopped by hand after"), qPrintable(howOf("Sweep endless")));
    QVERIFY2(howOf("Sweep endless").contains(m_folder.filePath("endless.sweep")), "the sweep does not say where");
    QCOMPARE(m_window->runCommand("stop", json::object()).error().why, std::string("nothing is running"));
  }

  /// Also without a session: Stop is enabled, and stops the sweep.
  void stopEndsASweepThatRunsAlone() {
    make(true);
    m_window->closeSession(m_window->session());
    beginSweep();
    auto* cancel = [&]() -> QToolButton* {
      for (QToolButton* one : m_window->status().findChildren<QToolButton*>())
        if (one->text() == "Cancel") return one;
      return nullptr;
    }();
    QVERIFY(cancel && cancel->isVisible());
    QTest::mouseClick(cancel, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!running("Sweep endless"), 60000);
    QVERIFY(!cancel->isVisible());
  }

  void aJobOfTheListIsCancelledAlone() {
    make(true, {{"model", "demo"}, {"threads", 1}, {"capacity", 65536}});  // the run outlasts the sweep
    prompt();
    beginSweep();
    const int sweep = jobs().front()->number;
    command("break_set", {{"conditions", json::array()}});
    QTRY_VERIFY(!context().busy());
    command("step", {{"n", 1000000}});
    QTRY_VERIFY(context().busy());
    command("cancel_job", {{"job", sweep}});
    QTRY_VERIFY_WITH_TIMEOUT(!running("Sweep endless"), 60000);
    QVERIFY(jobs().front());
    command("stop", {{"job", jobs().front()->number}});
    QTRY_VERIFY_WITH_TIMEOUT(!context().busy(), 20000);
    QCOMPARE(m_window->runCommand("cancel_job", {{"job", sweep}}).error().code, std::string("blocked"));
    QCOMPARE(m_window->runCommand("cancel_job", {{"job", 99}}).error().code, std::string("bad_argument"));
    command("go_to_job", {{"job", sweep}});
    QTRY_VERIFY(m_window->docks().visible("sweep"));
  }

  void endsSaySo_data() {
    QTest::addColumn<QString>("manifest");
    QTest::addColumn<QString>("breakpoint");
    QTest::addColumn<int>("most");
    QTest::addColumn<QString>("how");
    QTest::newRow("full cache") << R"({"model":"demo","threads":1,"capacity":24})"
                                << "" << 100 << "the cache is full";
    QTest::newRow("breakpoint") << R"({"model":"demo","threads":1})"
                                << "tick == 3" << 100 << "Stopped at the breakpoint tick == 3 after";
    QTest::newRow("as asked") << R"({"model":"demo","threads":1})"
                              << "" << 2 << "Ran 2 ticks, as many as asked for";
  }
  void endsSaySo() {
    QFETCH(QString, manifest);
    QFETCH(QString, breakpoint);
    QFETCH(int, most);
    QFETCH(QString, how);
    make(true, json::parse(manifest.toStdString()));
    prompt();
    QStringList log;
    connect(&context(), &InspectorContext::logged, this, [&](int, const QString& line) { log << line; });
    if (!breakpoint.isEmpty()) command("break_add", {{"condition", breakpoint.toStdString()}});
    command("run", {{"max_ticks", most}});
    QTRY_VERIFY_WITH_TIMEOUT(!howOf("Run").isEmpty(), 20000);
    QVERIFY2(howOf("Run").contains(how), qPrintable(howOf("Run")));
    QCOMPARE(said(), howOf("Run"));
    QVERIFY2(log.contains("Run: " + howOf("Run")), qPrintable(log.join('\n')));
  }

  /// The sentences for what the engine answers.
  void sentences_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("reply");
    QTest::addColumn<JobState>("state");
    QTest::addColumn<QString>("how");
    const char *const full = R"({"code":"capacity","what":"the context is full","why":"the limit is 2048"})",
                      *const refused =
                          R"({"code":"bad_action","what":"collapse was refused","why":"the cooldown is 2"})";
    const auto run = [](const char* by, int count, const char* error) {
      const QString tick = *error ? QString(R"({"ok":false,"error":%1})").arg(error) : QString(R"({"ok":true})");
      return QString(R"({"stoppedBy":"%1","count":%2,"ticks":[%3]})").arg(by).arg(count).arg(tick);
    };
    QTest::newRow("end of text") << "run" << run("end_of_text", 7, "") << JobState::Done
                                 << "The text ended after 7 ticks";
    const char* const broken = R"r({"stoppedBy":"invariant","count":9,"ticks":[{"violations":[{"invariant":"row_tags",
                                  "since":{"text":"between tick 12 (verified) and tick 41 (found)"}}]}]})r";
    QTest::newRow("damage") << "run" << broken << JobState::Done
                            << "Stopped at the breakpoint invariant after 9 ticks; row_tags broke between tick 12 "
                               "(verified) and tick 41 (found)";
    QTest::newRow("full context") << "run" << run("error", 5, full) << JobState::Failed
                                  << "Stopped after 4 ticks; the context is full: the limit is 2048";
    QTest::newRow("refusal") << "run" << run("error", 2, refused) << JobState::Failed
                             << "Stopped after 1 tick; collapse was refused: the cooldown is 2";
    QTest::newRow("by hand") << "run" << run("cancelled", 3, "") << JobState::Stopped
                             << "Stopped by hand after 3 ticks";
    QTest::newRow("rebuild by hand") << "rebuild"
                                     << R"({"cancelled":true})" << JobState::Stopped
                                     << "The rebuild was cancelled; nothing has changed";
    QTest::newRow("saved") << "save_cache"
                           << R"({"path":"/a/b.safetensors","bytes":2048})" << JobState::Done
                           << "Saved /a/b.safetensors, 2.00 KiB";
    QTest::newRow("drift") << "drift"
                           << R"({"k":[0.5,0.25],"v":[0],"kl":0.125})" << JobState::Done
                           << "Drift from a rebuild, worst layer: K 0.5, V 0; KL of the next token 0.125";
    QTest::newRow("drift of no number") << "drift"
                                        << R"({"k":[0.5,null],"v":[0],"kl":null})" << JobState::Done
                                        << "Drift from a rebuild, worst layer: K –, V 0; KL is not defined";
    QTest::newRow("attention error") << "attention_error"
                                     << R"({"k":[],"attention":[[0,0.25],[0.5,0.125],[]]})" << JobState::Done
                                     << "Attention error at most 0.5, in layer 1, query head 0";
    QTest::newRow("knock-out") << "knock_out"
                               << R"({"kl":0.75,"tokens":[],"each":[{"ledger":4,"kl":0.5},{"ledger":9,"kl":0.125}]})"
                               << JobState::Done
                               << "Without 2 rows: KL of the next token 0.75; most by row 4 alone, 0.5";
    QTest::newRow("no knock-out") << "knock_out"
                                  << R"({"kl":0,"tokens":[],"each":[]})" << JobState::Done
                                  << "Model compares with the tick before";
    QTest::newRow("lanes stop") << "run"
                                << R"({"stoppedBy":"error","count":3,"ticks":[{"lanes":[{"error":{"code":"capacity",)"
                                   R"("what":"the cache is full","why":"the limit is 64"}}]}]})"
                                << JobState::Failed << "Stopped after 2 ticks; the cache is full: the limit is 64";
  }
  void sentences() {
    QFETCH(QString, id);
    QFETCH(QString, reply);
    QFETCH(JobState, state);
    QFETCH(QString, how);
    const JobOutcome outcome = endOf(CommandReply{id, json::object(), json::parse(reply.toStdString())});
    QCOMPARE(outcome.how, how);
    QCOMPARE(outcome.state, state);
  }

  void aRunThatIsCancelledSaysSo() {
    make(true);
    prompt();
    command("step", {{"n", 1000000}});
    QTRY_VERIFY(context().snapshot()->tick.value() > 1);
    QTest::keyClick(m_window.get(), Qt::Key_Escape);
    QTRY_VERIFY2(howOf("Step").startsWith("Stopped by hand after"), qPrintable(howOf("Step")));
  }

  /// Two commands of one session: Esc and Cancel Job stop the one that they mean.
  void aJobThatWaitsIsCancelledAlone() {
    make(true);
    prompt();
    command("step", {{"n", 1000000}});
    QTRY_VERIFY(running("Step"));
    const auto wait = [&](const char* title) {
      static_cast<void>(context().within({.id = "step", .title = title, .view = "events"}, [&] {
        context().submit("step", {{"n", 2}});
        return ok();
      }));
      return jobs().jobs().back().number;
    };
    const int second = wait("Second"), third = wait("Third");
    command("cancel_job", {{"job", second}});
    QTRY_VERIFY(!running("Second"));
    QVERIFY(running("Step") && running("Third"));
    QTest::keyClick(m_window.get(), Qt::Key_Escape);
    QTRY_VERIFY_WITH_TIMEOUT(!running("Step") && !running("Third"), 20000);
    QCOMPARE(jobs().find(third)->state, JobState::Done);
    QCOMPARE(jobs().find(second)->state, JobState::Stopped);
  }

  void closingAsksOnce() {
    make(false);
    prompt();
    beginSweep();
    QVERIFY(!m_window->close());
    QVERIFY(m_window->isVisible() && m_window->banner().isVisible());
    QVERIFY2(m_window->banner().text().contains("Sweep endless"), qPrintable(m_window->banner().text()));
    QVERIFY(!QApplication::activeModalWidget());
    QTest::mouseClick(m_window->banner().findChildren<QPushButton*>().last(), Qt::LeftButton);
    QVERIFY(!m_window->banner().isVisible() && running("Sweep endless"));
    QVERIFY(!m_window->close());
    for (QPushButton* button : m_window->banner().findChildren<QPushButton*>())
      if (button->isVisible() && button->text().contains("Discard")) return button->click();
    QFAIL("nothing closes the window");
  }
};

KV_TEST(JobsTest)
#include "jobs_test.moc"
