// SPDX-License-Identifier: GPL-3.0-or-later
// Copy as Script: a script repeats the effects of random keys and commands of one whole window in another window, over
// the real engine, with the same state hash, focus and options. Each sequence has its seed.
#include <QApplication>
#include <QClipboard>
#include <random>

#include "app/whole_window.h"
#include "support/runner.h"
#include "support/script_call.h"
#include "widgets/base/inspector_view.h"

using namespace kvlab;
using nlohmann::json;

class SessionScriptTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> m_window, m_other;
  QStringList m_log;

  void freshWindows() {
    m_window = test::wholeWindow();
    m_other = test::wholeWindow();
  }
  LiveContext& context() { return m_window->context(); }
  bool settled() { return test::settled(*m_window); }
  void open(const json& manifest) { QVERIFY(test::openIn(*m_window, manifest)); }
  void run(const char* id, const json& args = json::object()) {
    context().runCommand(id, args, this, [](const Result<json>&) {});
    QVERIFY(settled());
  }
  QString hash() {
    QString out;
    const test::ScriptCall hash = test::scriptCall("stateHash", nullptr);
    context().query("hash", hash.verb, hash.args, this, [&](const Result<json>& r) {
      if (r) out = QString::fromStdString(hash.read(*r));
    });
    return QTest::qWaitFor([&] { return !out.isEmpty(); }, 20000) ? out : QString();
  }
  /// The copied script runs in the other window; the state hash there.
  QString replayed(const QString& script) {
    ScriptSettings settings;
    settings.schema = coreSchema();
    settings.resources = KVLAB_RESOURCES_DIR;
    m_log.clear();
    settings.log = [this](const QString& line) { m_log << line; };
    ScriptHost host(*m_other, settings);
    const ScriptResult result = host.runText(script + "log(s.stateHash());", "copied.js");
    return result.failed ? result.message() : m_log.value(0);
  }
  void compare() {
    QVERIFY(QTest::qWaitFor([&] { return m_window->docks().view("map")->ready(); }, 5000));
    run("copy_session_script");
    const QString script = QGuiApplication::clipboard()->text();
    QVERIFY2(script.startsWith("let s = lab.open("), qPrintable(script));
    const QString wanted = hash();
    QVERIFY(!wanted.isEmpty());
    const QString got = replayed(script);
    QVERIFY2(got == wanted, qPrintable(got + " instead of " + wanted + "\n" + script));
    Focus here = context().focus(), there = m_other->context().focus();
    QVERIFY2(here == there, qPrintable(script));
    QCOMPARE(m_other->context().chosenRows(), context().chosenRows());
    for (const char* id : {"map", "strip"}) {
      const auto its = [&] { return m_other->docks().view(id)->options(); };
      const json mine = m_window->docks().view(id)->options();
      const bool same = QTest::qWaitFor([&] { return mine == its(); }, 2000);
      QVERIFY2(same, (mine.dump() + " became " + its().dump() + "\n" + script.toStdString()).c_str());
    }
  }
  void actAtRandom(std::mt19937& random);

 private Q_SLOTS:
  void initTestCase() { freshWindows(); }
  void cleanupTestCase() {
    m_window.reset();
    m_other.reset();
  }
  void randomSequences();
  void aStoppedRunEndsWhereItStopped();
  void aRunEndsAtItsBreakpoint();
  void aForkGoesOn();
  void theFileIsTheSame();
};

void SessionScriptTest::actAtRandom(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int length = context().history().back()->length();
  const auto place = [&] { return below(std::max(length, 1)); };
  const auto key = [&](Qt::Key k, Qt::KeyboardModifiers held = {}) {
    QTest::keyClick(m_window.get(), k, held);
    settled();
  };
  switch (below(20)) {
    case 0: return run("prompt", {{"text", "where is the silver key ?"}});
    case 1: return run("prompt", {{"text", ""}});  // refused
    case 2: return run("run", {{"max_ticks", 1 + below(6)}});
    case 3: return run("inject", {{"actions", {{{"action", "delete"}, {"position", place()}}}}, {"now", true}});
    case 4: return run("inject", {{"actions", {{{"action", "delete"}, {"position", place()}}}}});
    case 5:
      return run("inject", {{"actions", {{{"action", "delete"}, {"position", 9999}}}}, {"now", true}});  // refused
    case 6:
      return run(
          "inject",
          {{"actions", {{{"action", "insert"}, {"position", place()}, {"token_ids", json::array({5 + below(40)})}}}},
           {"now", below(2) == 1}});
    case 7: return run("apply");
    case 8: return run("rebuild");
    case 9: return run("storage_layout", {{"layout", below(2) == 1 ? "paged" : "contiguous_splice"}});
    case 10: return run("policy_set", {{"policy", below(2) == 1 ? "h2o:ratio=0.8" : "full"}});
    case 11: return key(Qt::Key_Z, Qt::ControlModifier);
    case 12: return key(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    case 13: return key(Qt::Key_F10, Qt::ShiftModifier);
    case 14: return run("break_set", {{"conditions", json::array({"length >= " + std::to_string(length + 2)})}});
    case 15: return run("break_clear");
    case 16: return key(Qt::Key_F7);
    case 17: return run(below(2) == 1 ? "finish_tick" : "cancel_tick");
    case 18:
      context().choose(Position(place()), InspectorContext::Choice::Only);
      return context().choose(Position(place()), InspectorContext::Choice::Extend);
    default: return key(Qt::Key_F10);
  }
}

void SessionScriptTest::randomSequences() {
  constexpr int kSequences = test::kSanitized ? 25 : 100, kPerWindow = 25;
  for (int seed = 0; seed < kSequences; ++seed) {
    if (seed % kPerWindow == 0) {
      freshWindows();
      QVERIFY(m_window->views().setOptions("map", {{"quantity", "age"}}));
    }
    std::mt19937 random(static_cast<unsigned>(seed));
    open({{"model", "demo"}, {"threads", 1}, {"capacity", 96}});
    run("prompt", {{"text", "anna puts the silver key in the cellar ."}});
    for (int i = 0; i < 9; ++i) actAtRandom(random);
    compare();
    if (QTest::currentTestFailed()) qFatal("seed %d", seed);
  }
}

void SessionScriptTest::aStoppedRunEndsWhereItStopped() {
  freshWindows();
  open({{"model", "synthetic:tiny"}, {"threads", 1}, {"capacity", 8192}, {"absolute_overflow", "shift"}});
  run("prompt", {{"text", "anna puts the silver key in the cellar ."}});
  QStringList said;
  connect(&context(), &InspectorContext::scripted, this, [&](const QString& line) { said << line; });
  context().runCommand("run", json::object());
  QTRY_VERIFY_WITH_TIMEOUT(context().history().back()->tick > Tick(20), 20000);
  run("stop");
  const auto ticks = context().history().back()->tick.value() - 1;
  QVERIFY(!said.isEmpty());
  QCOMPARE(said.last(), QString("s.run(%1)").arg(ticks));
  QVERIFY(m_window->views().sessionScript().contains(QString("s.run(%1);").arg(ticks)));
  run("undo");
  run("step");
  compare();
}

void SessionScriptTest::aRunEndsAtItsBreakpoint() {
  freshWindows();
  open({{"model", "demo"}, {"threads", 1}});
  run("prompt", {{"text", "anna puts the silver key in the cellar ."}});
  run("break_add", {{"condition", "length >= 14"}});
  run("run");
  QCOMPARE(context().history().back()->length(), 14);
  compare();
  run("break_set", {{"conditions", json::array({"stage(plan)"})}});
  run("run");
  QVERIFY(context().history().back()->stage != nullptr);
  compare();
}

void SessionScriptTest::aForkGoesOn() {
  freshWindows();
  open({{"model", "demo"}, {"threads", 1}});
  run("prompt", {{"text", "anna puts the silver key ."}});
  const SessionPtr first = m_window->session();
  SessionPtr fork;
  first->fork([&](const Result<SessionPtr>& r) { fork = r ? *r : nullptr; });
  QTRY_VERIFY_WITH_TIMEOUT(fork, 20000);
  m_window->showSession(fork);
  run("step", {{"n", 3}});
  QVERIFY(m_window->views().sessionScript().contains("s = s.fork();"));
  compare();
}

void SessionScriptTest::theFileIsTheSame() {
  QTemporaryDir folder;
  const QString path = folder.filePath("done.js");
  QVERIFY(m_window->runCommand("save_session_script", {{"path", path.toStdString()}}));
  QFile file(path);
  QVERIFY(file.open(QIODevice::ReadOnly));
  QCOMPARE(QString::fromUtf8(file.readAll()), m_window->views().sessionScript());
  QCOMPARE(m_window->runCommand("save_session_script", {{"path", "/nowhere/at/all.js"}}).error().code,
           std::string("io"));
}

KV_TEST(SessionScriptTest)
#include "session_script_test.moc"
