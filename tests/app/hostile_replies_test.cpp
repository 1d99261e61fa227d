// SPDX-License-Identifier: GPL-3.0-or-later
// Replies of the engine with members that are missing, null or of another type, for every command of the registry and
// for every question of a view: the window shows as much as it can, nothing throws, and nothing ends the program. The
// replies are real ones, changed in one place each. KVLAB_EVERY_REPLY=1 takes all changes, else two of each reply, in
// turn.
#include <QDialog>

#include "app/base/application.h"
#include "app/tape_engine.h"
#include "app/whole_window.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

/// The steps that prepare a session: commands with their arguments.
using Steps = std::vector<std::pair<const char*, json>>;

json replaceRow(int row) {
  return json::array({{{"action", "replace"}, {"positions", {row}}, {"new_token_ids", {5}}}});
}

json evictRows() { return json::array({{{"action", "evict"}, {"layer", 0}, {"ledger", {5, 6, 8, 9, 10}}}}); }

}  // namespace

class HostileRepliesTest : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_settings;
  std::shared_ptr<test::Tape> m_tape;
  std::unique_ptr<MainWindow> m_window;
  QStringList m_faults;  // exceptions that a guard caught
  QSet<QString> m_run;   // commands that ran

  std::size_t m_turn = 0;

  static constexpr std::size_t kMost = test::kSanitized ? 1 : 2;  // versions of a reply, unless all are wanted
  static bool everyVersion() { return qEnvironmentVariableIsSet("KVLAB_EVERY_REPLY"); }
  LiveContext& context() { return m_window->context(); }

  /// Good arguments of the commands that need some.
  json argsOf(const QString& id) {
    const QString file = m_settings.filePath(id);
    static const QHash<QString, json> kArgs{
        {"go_to_tick", {{"tick", 1}}},
        {"select_where", {{"condition", "position < 4"}}},
        {"ticks_where", {{"condition", "evicted(ledger==3)"}}},
        {"run", {{"max_ticks", 2}}},
        {"step", {{"n", 2}}},
        {"prompt", {{"text", "a b"}}},
        {"chat", {{"text", "a"}, {"max", 1}}},
        {"take_token", {{"id", 3}}},
        {"inject", {{"actions", replaceRow(3)}, {"now", true}}},
        {"undo_to", {{"edits", 1}}},
        {"redo_to", {{"edits", 1}}},
        {"pin", {{"ledger", 3}}},
        {"set_brightness", {{"ledger", 3}, {"value", 9}}},
        {"wlod_expand", {{"node", 1}}},
        {"wlod_collapse", {{"node", 1}}},
        {"break_add", {{"condition", "kl > 9"}}},
        {"break_change", {{"id", 1}, {"enabled", true}}},
        {"break_set", {{"conditions", {"kl > 9"}}}},
        {"watch_add", {{"expression", "kl"}}},
        {"note", {{"text", "here"}}},
        {"note_change", {{"id", 1}, {"text", "there"}}},
        {"note_go", {{"id", 1}}},
        {"run_back", {{"condition", "evicted(ledger==3)"}}},
        {"policy_set", {{"policy", "h2o:ratio=0.5"}}},
        {"storage_layout", {{"layout", "paged"}}},
        {"storage_format", {{"k", "f16"}, {"v", "f16"}}},
        {"lanes_open", {{"changes", json::array({{{"kv", {{"v", "int8"}}}}})}}},
        {"session_settings", {{"manifest", {{"model", "synthetic:tiny"}, {"after_edit", "keep"}}}}},
        {"limit_ticks", {{"first", 0}, {"last", 9}}},
        {"open_sweep_cell", {{"cell", 0}}},
        {"cancel_job", {{"job", 1}}},
        {"go_to_job", {{"job", 1}}},
    };
    const Command& command = *m_window->commands().find(id);
    if (id == "save_capture" || id == "save_cache" || id == "load_cache")
      return {{"path", (m_settings.path() + (id == "save_capture" ? "/a.kvcap" : "/a.safetensors")).toStdString()}};
    if (id == "notes_export" || id == "screenshot" || id == "save_session_script")
      return {{"path", (file + (id == "screenshot" ? ".png" : ".md")).toStdString()}};
    const json known = kArgs.value(id, json::object());
    for (const CommandArgument& arg : command.args)
      if (arg.required && !known.contains(arg.name.toStdString())) qFatal("no arguments of %s", qPrintable(id));
    return known;
  }

  /// Commands that ask no engine: they open files, sessions and other programs, or end the window.
  static bool elsewhere(const QString& id) {
    static const QSet<QString> kElsewhere{
        "quit",         "new_session", "open_manifest", "open_model", "open_model_file",
        "open_capture", "run_script",  "open_sweep",    "run_sweep",  "tour",
        "resume_tour",  "train_gates", "train_gists",   "train_lens", "manual"};
    return kElsewhere.contains(id);
  }

  /// Until the engine rests and its reply has been shown.
  void rest() {
    bool answered = false;
    context().query("rest", "tick", json::object(), this, [&](const Result<json>&) { answered = true; });
    QElapsedTimer since;
    since.start();
    while ((!answered || context().busy()) && since.elapsed() < 20000)
      QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 20);
    QVERIFY2(answered && !context().busy(), "the engine did not come to rest");
    for (QDialog* dialog : m_window->findChildren<QDialog*>()) dialog->close();
  }

  void run(const QString& id) {
    const json args = argsOf(id);
    if (m_window->runCommand(id, args)) m_run << id;
    rest();
  }

  /// Reads or changes the tape: engine threads of sessions that are not shown any more may still ask for replies.
  template <class Work>
  auto onTape(const Work& work) {
    const std::lock_guard lock(m_tape->mutex);
    return work(*m_tape);
  }

  void open(const json& manifest, const Steps& steps) {
    onTape([](test::Tape& tape) { tape.playing = false; });
    QVERIFY(test::openIn(*m_window, manifest, "a b c d e f g h i j k l"));
    for (const auto& [id, args] : steps) {
      const Status done = m_window->runCommand(id, args);
      QVERIFY2(done, done ? "" : done.error().text().c_str());
      rest();
    }
    context().focusPosition(Position(3));
    rest();
  }

  std::vector<QString> commandsNow() {
    std::vector<QString> out;
    for (const Command& command : m_window->commands().all())
      if (!elsewhere(command.id) && (!command.blocked || command.blocked(*m_window).isEmpty()))
        out.push_back(command.id);
    return out;
  }

  /// The verbs that `act` asks the engine for.
  std::set<std::string> askedBy(const std::function<void()>& act) {
    onTape([](test::Tape& tape) { tape.asked.clear(); });
    act();
    rest();
    return onTape([](const test::Tape& tape) { return tape.asked; });
  }

  /// Does it with each reply that it asks for in each hostile version.
  void act(const QString& what, const std::function<void()>& act) {
    for (const std::string& verb : askedBy(act)) {
      const json reply = onTape([&](const test::Tape& tape) {
        const auto taped = tape.replies.find(verb);
        return taped == tape.replies.end() ? json::object() : taped->second;
      });
      const std::vector<json> versions = test::hostileVersions(reply);
      const std::size_t step = everyVersion() ? 1 : std::max<std::size_t>(1, versions.size() / kMost);
      for (std::size_t v = m_turn++ % step; v < versions.size(); v += step) {
        const json& version = versions[v];
        onTape([&](test::Tape& tape) { tape.changed = {{verb, version}}; });
        const qsizetype before = m_faults.size();
        act();
        rest();
        if (m_faults.size() > before)
          m_faults.last() +=
              QString(" [%1, %2 said %3]").arg(what, verb.c_str(), version.dump().substr(0, 300).c_str());
        if (QTest::currentTestFailed()) return;
      }
      onTape([](test::Tape& tape) { tape.changed.clear(); });
    }
  }

 private Q_SLOTS:
  void initTestCase() { QVERIFY(test::ownSettings(m_settings)); }
  void init() {
    m_faults.clear();
    m_tape = std::make_shared<test::Tape>();
    WindowSettings settings = test::wholeSettings();
    settings.engines = test::tapeEngines(m_tape);
    m_window = test::wholeWindow(settings);
    connect(&context(), &InspectorContext::failed, this, [this](const Error& error) {
      if (error.code == "internal") m_faults << QString::fromStdString(error.text());
    });
  }
  void cleanup() { m_window.reset(); }

  void repliesAreRead_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<bool>("openTick");
    QTest::addColumn<bool>("lanes");
    const auto row = [](const char* name, json manifest, bool openTick = false, bool lanes = false) {
      if (!manifest.contains("model")) manifest["model"] = "synthetic:tiny";
      QTest::newRow(name) << QByteArray::fromStdString(manifest.dump()) << openTick << lanes;
    };
    row("plain", {{"layout", "paged:block=4"}, {"op_events", true}});
    row("smartkv", {{"model", "demo"}, {"policy", "smartkv"}});
    row("tick open", json::object(), true);
    row("lanes", json::object(), false, true);
    row("wlod", {{"wlod", {{"budget", 64}}}});
  }
  void repliesAreRead() {
    QFETCH(QByteArray, manifest);
    QFETCH(bool, openTick);
    QFETCH(bool, lanes);
    const json given = json::parse(manifest.toStdString());
    Steps steps{{"step", {{"n", 3}}}};
    if (!given.contains("wlod")) {
      steps.push_back({"inject", {{"actions", replaceRow(2)}, {"now", true}}});
      steps.push_back({"inject", {{"actions", json::array({{{"action", "delete"}, {"position", 4}}})}, {"now", true}}});
      steps.push_back({"inject", {{"actions", evictRows()}, {"now", true}}});
      steps.push_back({"step", json::object()});
      steps.push_back({"undo", json::object()});
      steps.push_back({"note", {{"text", "here"}}});
      steps.push_back({"inject", {{"actions", replaceRow(5)}}});
    }
    if (openTick) steps.push_back({"step_stage", json::object()});
    if (lanes) {
      steps.pop_back();
      steps.push_back({"lanes_open", {{"changes", json::array({{{"kv", {{"v", "int8"}}}}})}}});
    }
    open(given, steps);
    for (const QString& id : m_window->docks().ids()) {
      m_window->docks().show(id);
      rest();
    }
    for (const QString& id : commandsNow()) run(id);
    open(given, steps);
    onTape([](test::Tape& tape) { tape.playing = true; });
    for (const QString& id : commandsNow()) act(id, [&] { run(id); });
    for (const QString& id : m_window->docks().ids())
      act("view " + id, [&] {
        m_window->docks().show(id);
        context().submit("poke", json::object(), this, [](const Result<json>&) {});
      });
    QVERIFY2(m_faults.isEmpty(), qPrintable(m_faults.mid(0, 20).join('\n')));
  }

  /// No command that asks the engine is left out.
  void everyCommandRan() {
    static const QSet<QString> kAskNobody{"go_to_finding", "cancel_job",  "go_to_job",  "open_sweep_cell",
                                          "all_ticks",     "newest_tick", "focus_back", "focus_forward",
                                          "stop",          "copy",        "close_view", "float_view"};
    QStringList left;
    for (const Command& command : m_window->commands().all())
      if (!elsewhere(command.id) && !kAskNobody.contains(command.id) && !m_run.contains(command.id)) left << command.id;
    QVERIFY2(left.isEmpty(), qPrintable(left.join(", ")));
  }
};

KV_TEST_UNDER(GuardedApplication, HostileRepliesTest)

#include "hostile_replies_test.moc"
