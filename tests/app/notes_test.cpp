// SPDX-License-Identifier: GPL-3.0-or-later
// Notes in the whole window over the real engine: commands and keys, ways to other branches, and the exported page,
// whose script lines lead to the same states.
#include <QTemporaryDir>

#include "app/whole_window.h"
#include "support/runner.h"
#include "support/script_call.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/note_place.h"

using namespace kvlab;
using nlohmann::json;

class NotesTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> m_window;
  QTemporaryDir m_folder;

  LiveContext& context() { return m_window->context(); }
  bool settled() { return test::settled(*m_window); }
  /// "" or the code of the error.
  std::string run(const char* id, const json& args = json::object()) {
    std::optional<Result<json>> reply;
    context().runCommand(id, args, this, [&](const Result<json>& r) { reply = r; });
    const bool answered = QTest::qWaitFor([&] { return reply.has_value(); }, 20000) && settled();
    return !answered ? "no reply" : *reply ? "" : (*reply).error().code;
  }
  json ask(const char* verb, const json& args = json::object()) {
    std::optional<json> out;
    const test::ScriptCall call = test::scriptCall(verb, args);
    context().submit(call.verb, call.args, this,
                     [&](const Result<json>& r) { out = r ? call.read(*r) : json(r.error().text()); });
    return QTest::qWaitFor([&] { return out.has_value(); }, 20000) && settled() ? *out : json("no reply");
  }
  std::vector<NoteView> notes() { return notesOf(context()); }
  void key(Qt::Key k, Qt::KeyboardModifiers held = {}) {
    QTest::keyClick(m_window.get(), k, held);
    QVERIFY(settled());
  }
  QString file(const char* name) const { return m_folder.filePath(name); }
  static QString read(const QString& path) {
    QFile in(path);
    return in.open(QIODevice::ReadOnly) ? QString::fromUtf8(in.readAll()) : QString();
  }
  /// The lines of each note on an exported page.
  static QStringList scriptsOf(const QString& page) {
    QStringList out;
    const QRegularExpression fences("```js\n(.*?)```", QRegularExpression::DotMatchesEverythingOption);
    for (auto found = fences.globalMatch(page); found.hasNext();) out << found.next().captured(1);
    return out;
  }
  /// The state hash at the end of a script that runs in another window.
  static QString hashAfter(const QString& script) {
    const auto other = test::wholeWindow();
    ScriptSettings settings;
    settings.schema = coreSchema();
    settings.resources = KVLAB_RESOURCES_DIR;
    QStringList log;
    settings.log = [&log](const QString& line) { log << line; };
    ScriptHost host(*other, settings);
    const ScriptResult result = host.runText(script + "log(s.stateHash());", "note.js");
    return result.failed ? result.message() : log.value(0);
  }
  void openDemo() {
    m_window = test::wholeWindow();
    QVERIFY(test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}}));
    QCOMPARE(run("prompt", {{"text", "anna puts the silver key in the cellar . where is the silver key ?"}}), "");
    QCOMPARE(run("step", {{"n", 4}}), "");
  }
  /// A note before both branches, one on each, all with the hash of their states.
  QStringList threeNotes() {
    QStringList hashes;
    const auto write = [&](const char* text) {
      QCOMPARE(run("note", {{"text", text}}), "");
      hashes << QString::fromStdString(ask("stateHash"));
    };
    write("before");
    run("step", {{"n", 3}});
    write("`old` branch");
    ask("undo", {{"n", 2}});
    ask("step", {{"tokens", {9}}});
    context().choose(Position(5), InspectorContext::Choice::Only);
    write("");
    return hashes;
  }

 private Q_SLOTS:
  void init() { openDemo(); }
  void cleanup() { m_window.reset(); }

  void bookmarksComeAndGo() {
    context().choose(Position(6), InspectorContext::Choice::Only);
    key(Qt::Key_M, Qt::ControlModifier);
    QTRY_COMPARE(notes().size(), std::size_t(1));
    const NoteView note = notes()[0];
    QCOMPARE(note.tick, context().snapshot()->tick);
    QCOMPARE(note.ledger, std::optional(context().focus().ledger));
    QVERIFY(note.text.empty() && note.layer);
    context().choose(Position(7), InspectorContext::Choice::Only);
    key(Qt::Key_M, Qt::ControlModifier);
    QTRY_COMPARE(notes().size(), std::size_t(2));
    context().choose(Position(6), InspectorContext::Choice::Only);
    key(Qt::Key_M, Qt::ControlModifier);
    QTRY_COMPARE(notes().size(), std::size_t(1));
    QCOMPARE(notes()[0].id, 2);
  }

  void whoLooksBackGoesOnLookingBack() {
    context().showTick(Tick(3));
    QCOMPARE(run("note", {{"text", "then"}}), "");
    QCOMPARE(notes()[0].tick, Tick(3));
    QCOMPARE(context().snapshot()->tick, Tick(3));
    QVERIFY(!context().following());
    QCOMPARE(run("note_change", {{"id", 1}, {"text", "now"}}), "");
    QCOMPARE(notes()[0].text, std::string("now"));
    QCOMPARE(run("note_remove", {{"id", 1}}), "");
    QCOMPARE(context().snapshot()->tick, Tick(3));
    QCOMPARE(run("note_remove", {{"id", 1}}), std::string("no_note"));
  }

  void saysWhatItWrote() {
    QSignalSpy said(&context(), &LiveContext::noted);
    const QString tick = QString::number(context().snapshot()->tick.value());
    context().runCommand("note", {{"text", "then"}});
    QTRY_COMPARE(said.count(), 1);
    QCOMPARE(said.last()[0].toString(), "Wrote a note at tick " + tick);
    context().runCommand("note", {{"text", ""}});
    QTRY_COMPARE(said.count(), 2);
    QCOMPARE(said.last()[0].toString(), "Bookmarked tick " + tick);
    QVERIFY(settled());
    QCOMPARE(run("note_remove"), "");
    QCOMPARE(run("note_remove"), std::string("blocked"));
  }

  void goesToOtherBranches() {
    const QStringList hashes = threeNotes();
    context().runCommand("note_go", {{"id", 2}});
    QTRY_COMPARE(context().snapshot()->branch, std::string("main"));
    QVERIFY(settled());
    QCOMPARE(QString::fromStdString(ask("stateHash")), hashes[1]);
    for (const SnapshotPtr& kept : context().history()) QCOMPARE(kept->branch, std::string("main"));
    context().runCommand("note_go", {{"id", 3}});
    QTRY_COMPARE(context().snapshot()->branch, std::string("branch-1"));
    QCOMPARE(context().focus().position, Position(5));
  }

  void theScriptHasThem() {
    const QStringList hashes = threeNotes();
    QCOMPARE(hashAfter(m_window->views().sessionScript()), hashes[2]);
    QCOMPARE(hashAfter(m_window->views().sessionScript() + "s.gotoNote(2);"), hashes[1]);
  }

  void thePageLeadsToTheStates() {
    const QStringList hashes = threeNotes();
    QVERIFY(m_window->views().setOptions("map", {{"quantity", "age"}}));
    QCOMPARE(run("notes_export", {{"path", file("three notes.md").toStdString()}}), "");
    const QString page = read(file("three notes.md"));
    QCOMPARE(page.count("\n## "), 3);
    QVERIFY2(page.contains("before") && page.contains("*Bookmark*"), qPrintable(page));
    const QStringList scripts = scriptsOf(page);
    QCOMPARE(scripts.size(), qsizetype(3));
    for (int i = 0; i < 3; ++i) QCOMPARE(hashAfter(scripts[i]), hashes[i == 1 ? 2 : i == 2 ? 1 : 0]);  // by ticks
    QVERIFY(page.contains("(three%20notes-1.png)") && page.contains("No picture: the state is on main."));
    const QImage first(file("three notes-1.png")), second(file("three notes-2.png"));
    QCOMPARE(first.size(), m_window->size());
    QVERIFY(!second.isNull() && first != second);
    QCOMPARE(QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot).size(), 3);
    QVERIFY(context().following());
  }

  /// From a capture the window has the last state alone: a fork goes to the others, and pending actions stay.
  void thePageOfACapture() {
    const QStringList hashes = threeNotes();
    const std::string path = file("notes.kvcap").toStdString();
    ask("saveCapture", {{"path", path}});
    bool opened = false;
    m_window->openSession({{"capture", path}}, [&](const Result<SessionPtr>& r) { opened = bool(r); });
    QVERIFY(QTest::qWaitFor([&] { return opened; }, 20000) && settled());
    QCOMPARE(notes().size(), std::size_t(3));
    QCOMPARE(ask("inject", {{"actions", {{{"action", "delete"}, {"position", 2}}}}}).dump().substr(0, 1),
             std::string("{"));
    const auto session = m_window->session();
    QCOMPARE(run("notes_export", {{"path", file("from.md").toStdString()}, {"view", "map"}}), "");
    QCOMPARE(m_window->session(), session);
    QCOMPARE(context().snapshot()->pending.size(), std::size_t(1));
    const QString page = read(file("from.md"));
    QVERIFY2(page.contains("No picture: the state is not in this history"), qPrintable(page));
    const QImage first(file("from-1.png")), second(file("from-2.png"));
    QVERIFY(!first.isNull() && !second.isNull() && first != second);
    const QStringList scripts = scriptsOf(page);
    QCOMPARE(scripts.size(), qsizetype(2));
    QVERIFY(scripts[0].startsWith("let s = lab.openCapture("));
    QCOMPARE(hashAfter(scripts[0]), hashes[0]);
    QCOMPARE(hashAfter(scripts[1]), hashes[2]);
  }

  void allFilesOrNone() {
    threeNotes();
    QCOMPARE(run("notes_export", {{"path", file("none/x.md").toStdString()}}), std::string("io"));
    QCOMPARE(run("notes_export", {{"path", file("x.md").toStdString()}, {"view", "nothing"}}),
             std::string("unknown_view"));
    QCOMPARE(run("notes_export", {{"path", file("x.md").toStdString()}}), "");
    const QString page = read(file("x.md"));
    QCOMPARE(run("notes_export", {{"path", file("x.md").toStdString()}, {"view", "nothing"}}),
             std::string("unknown_view"));  // the files that were there stay
    QVERIFY(read(file("x.md")) == page && QFile::exists(file("x-1.png")));
    QVERIFY(QDir(m_folder.path()).mkpath("taken.md"));  // a folder has the name of the page
    QCOMPARE(run("notes_export", {{"path", file("taken.md").toStdString()}}), std::string("io"));
    QVERIFY(QDir(m_folder.path()).entryList({"taken-*", ".kvlab*"}, QDir::Files | QDir::Hidden).isEmpty());
  }

  void nothingToExport() {
    QCOMPARE(run("notes_export", {{"path", file("x.md").toStdString()}}), std::string("blocked"));
  }
};

KV_TEST(NotesTest)
#include "notes_test.moc"
