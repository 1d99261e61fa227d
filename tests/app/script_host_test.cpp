// SPDX-License-Identifier: GPL-3.0-or-later
// The script language over a fake window: arguments, errors with their place, stopping, time limits,
// and that script_api.d.ts names exactly what is registered.
#include <sys/resource.h>
#include <unistd.h>

#include "app/engine/core_engine.h"
#include "app/engine/engine_thread.h"
#include "app/engine/live_session.h"
#include "app/fake_engine.h"
#include "app/script/script_host.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

class FakeWindow : public WindowPort, public ViewPort, public SweepPort {
 public:
  test::FakeState state;
  std::vector<std::string> calls;
  QColor painted = Qt::white;
  QString dumped = "map: tick 3\n1 one\n2 two\n";
  bool frozen = false;
  SessionPtr shown;
  json lastRequest;

  ViewPort& views() const override { return *m_own; }
  SweepPort& sweeps() const override { return *m_own; }
  void openSession(const json& request, Opened opened) override {
    lastRequest = request;
    const bool bad = request.value("manifest", json::object()).value("model", "") == "bad";
    auto holder = std::make_shared<std::shared_ptr<LiveSession>>();
    *holder = std::make_shared<LiveSession>(bad ? test::refusingOpener() : test::fakeOpener(state),
                                            [this, holder, opened](const Result<json>& r) {
                                              const auto session = std::exchange(*holder, nullptr);
                                              if (!r) return opened(r.error());
                                              shown = session;
                                              opened(shown);
                                            });
  }
  SessionPtr session() const override { return shown; }
  void showSession(const SessionPtr& session) override { shown = session; }
  void closeSession(const SessionPtr& session) override {
    if (shown == session) shown = nullptr;
  }
  Status showView(const QString& id) override {
    calls.push_back("show " + id.toStdString());
    if (id == "nowhere")
      return Error("unknown_view", "no such view", "it is not listed", "name another", "view", "nowhere");
    return ok();
  }
  Status setFocus(const json& focus) override {
    calls.push_back("focus " + focus.dump());
    return ok();
  }
  Status setOptions(const QString& id, const json& options) override {
    calls.push_back("set " + id.toStdString() + " " + options.dump());
    return ok();
  }
  Status setTheme(const QString& name) override {
    calls.push_back("theme " + name.toStdString());
    return ok();
  }
  Status setSize(QSize) override { return ok(); }
  void freezeClock() override { calls.push_back("freezeClock"); }
  bool clockFrozen() const override { return frozen; }
  Result<bool> readyFor(const PictureRequest&) override { return ++m_asked > 3; }
  Result<QImage> picture(const PictureRequest& request) override {
    calls.push_back("picture " + request.what.toStdString() + " after " + std::to_string(m_asked));
    QImage image(10, 20, QImage::Format_RGB32);
    image.fill(painted);
    return image;
  }
  Result<PictureFile> pictureFile(const PictureRequest& request, const QString&) override {
    const QImage pixels = KV_TRY(picture(request));
    return PictureFile{"picture", pixels.size()};
  }
  Result<QString> dump(const QString&) override { return dumped; }
  Status bringUp(const QString& id) override { return showView(id); }
  Status mouse(const QString& id, const MouseAct& act) override {
    calls.push_back("mouse " + id.toStdString() + " " + std::to_string(int(act.from.x())) + " " +
                    std::to_string(act.to ? int(act.to->x()) : -1) + " " + std::to_string(int(act.button)) + " " +
                    std::to_string(act.modifiers.toInt()));
    return ok();
  }
  Status keys(const QString&, const QKeySequence& keys) override {
    calls.push_back("keys " + keys.toString().toStdString());
    return ok();
  }
  Status type(const QString&, const QString& text) override {
    calls.push_back("type " + text.toStdString());
    return ok();
  }
  void whenAnswered(std::function<void()> then) override { then(); }
  Status runCommand(const QString& id, const json& args) override {
    calls.push_back("command " + id.toStdString() + " " + args.dump());
    return ok();
  }
  std::vector<std::string> viewIds() const override { return {"map", "strip"}; }
  bool interactive() const override { return false; }
  void start(const json& request, Reply reply) override {
    calls.push_back("sweep " + request.dump());
    QMetaObject::invokeMethod(
        QCoreApplication::instance(),
        [reply] {
          reply(json{{"cells", 2}, {"failed", 0}});
        },
        Qt::QueuedConnection);
  }
  void stop() override {}
  bool running() const override { return false; }
  Status open(const QString&) override { return ok(); }
  void caption(const QString&, std::function<void()> resume) override { resume(); }

 private:
  FakeWindow* const m_own = this;
  int m_asked = 0;
};

Schema fakeSchema() {
  return {{{"step", {arg::integer("n", 1, 64), arg::tokens("tokens")}, "", "", Effect::Commits, InLanes::Steps},
           {"table", {arg::text("name"), arg::of("of", ArgType::Object)}, "", ""},
           {"echo", {arg::of("a", ArgType::List), arg::of("b", ArgType::List), arg::of("flag", ArgType::Flag)}, "", ""},
           {"files", {arg::reads("from"), arg::writes("to")}, "", ""},
           {"inject", {arg::of("actions", ArgType::Actions)}, "", "", Effect::Commits},
           {"block", {}, "", "", Effect::Commits},
           {"throw", {}, "", "", Effect::Commits},
           {"lanesOpen", {arg::of("lanes", ArgType::List)}, "", "", Effect::Commits, InLanes::Opens},
           {"lane",
            {arg::integer("lane", 0, 9), arg::of("verb", ArgType::Verb), arg::of("args", ArgType::Arguments)},
            "",
            "",
            Effect::Commits,
            InLanes::Own}},
          {}};
}

}  // namespace

class ScriptHostTest : public QObject {
  Q_OBJECT

 private:
  FakeWindow window;
  QStringList logged;
  QTemporaryDir m_out;
  ScriptResult run(const QString& text, double limit = 0) {
    ScriptSettings settings;
    settings.schema = fakeSchema();
    settings.args = {"x", "2"};
    settings.manifest = {{"model", "demo"}, {"dtype", "f32"}};
    settings.limitSeconds = limit;
    settings.out = m_out.path();
    settings.resources = KVLAB_RESOURCES_DIR;
    settings.log = [this](const QString& line) { logged << line; };
    ScriptHost host(window, settings);
    return host.runText(text, "dir/test.js");
  }

 private Q_SLOTS:
  void init() {
    window.calls.clear();
    logged.clear();
  }
  void passes_data();
  void passes();
  void failsWithPlace_data();
  void failsWithPlace();
  void manifestsMerge();
  void refusedSessions();
  void viewCalls();
  void expectations();
  void personCalls();
  void tests();
  void frozenResults();
  void consoleRemembers();
  void stopsEndlessLoops();
  void closedSessionsEndAtOnce();
  void stopsBeforeMemoryIsFull();
  void stopsWaiting();
  void oneScriptAtATime();
  void describedByTypes();
};

void ScriptHostTest::passes_data() {
  QTest::addColumn<QString>("text");
  const auto row = [](const char* name, const char* text) { QTest::newRow(name) << QString(text); };
  row("step",
      "const s = lab.open(); const r = s.step(3); expect(r.length === 3); expect(s.tick === 3); expect(s.length === "
      "3)");
  row("positional", "const s = lab.open(); expectNear(s.echo(1, [2,3]), {a:1, b:[2,3]})");
  row("options", "const s = lab.open(); expectNear(s.echo(1, {flag:true}), {a:1, flag:true})");
  row("typed array", "const s = lab.open(); expectNear(s.echo(new Float32Array([0.5,2])), {a:[0.5,2]})");
  row("undefined is missing", "const s = lab.open(); expectNear(s.echo(undefined, 2), {b:2})");
  row("two sessions", "const a = lab.open(), b = lab.open(); a.step(2); expect(a.tick === 2 && b.tick === 0)");
  row("fork",
      "const a = lab.open(); a.step(2); const b = a.fork(); b.step(3); expect(a.tick === 2 && b.tick === 5 && b.length "
      "=== 5)");
  row("fork of a closed one", "const s = lab.open(); s.close(); expectError(() => s.fork(), 'closed_session')");
  row("files",
      "const w = lab.writeText('sub/a.txt', 'caf\\u00e9\\n'); expect(w.bytes === 6); expect(lab.readText('sub/a.txt') "
      "=== 'caf\\u00e9\\n')");
  row("resources",
      "expect(lab.readText('resource:demo/story.txt').length > 50); const e = expectError(() => "
      "lab.readText('resource:../LICENSE'), 'bad_argument'); expect(e.field === 'path')");
  row("bad files",
      "expectError(() => lab.readText('nowhere.txt'), 'io'); expectError(() => lab.readText('.'), 'io'); "
      "expectError(() => lab.writeText('sub', 'x'), 'io')");
  row("no files",
      "for (const [path, why] of [['', 'is empty'], ['a\\0b', 'has a NUL character']]) "
      "for (const use of [() => lab.readText(path), () => lab.writeText(path, 'x'), () => lab.openCapture(path), () => "
      "lab.openCell(path, 0), "
      "() => lab.sweep(path), () => lab.sweep({name: 'a'}, {out: path}), () => view.screenshot('map', path), "
      "() => expectDump('map', path), () => expectImage('map', path)]) "
      "{ const e = expectError(use, 'bad_argument'); expect(e.why.endsWith(why) && !e.message.includes('\\0'), "
      "e.message) } "
      "const f = lab.open().files('', ''); expect(f.from === '' && f.to === '')");
  row("args", "expect(args.length === 2 && args[0] === 'x' && args[1] === '2')");
  row("near", "expectNear(1, 1.05, {abs:0.1}); expectNear([1,[2]], [1.01,[2.02]], {rel:0.02})");
  row("error code",
      "const s = lab.open(); s.close(); const e = expectError(() => s.step(), 'closed_session'); expect(e.why && "
      "e.remedy)");
  row("verb error", "const s = lab.open(); expectError(() => s.throw(), 'internal')");
  row("sweep",
      "const r = lab.sweep({name: 'a'}, {jobs: 2}); expect(r.cells === 2); expectError(() => lab.sweep({}, 3), "
      "'bad_argument')");
  row("no session", "expectError(() => lab.lanes({}, []), 'bad_argument')");
  row("files of verbs",
      "const s = lab.open(); lab.writeText('there.txt', 'x'); const f = s.files('there.txt', 'deep/new.bin'); "
      "expect(f.from[0] === '/' && f.to.endsWith('/deep/new.bin') && f.to[0] === '/'); "
      "expect(s.files('nowhere.txt', '/new.bin').from === 'nowhere.txt'); lab.writeText('deep/new.bin', 'x')");
  row("files of verbs on lanes",
      "const f = lab.lanes(lab.open(), [{}]).session(0).files('nowhere.txt', 'deep/new.bin'); expect(f.verb === "
      "'files' && f.args.to[0] === '/' && f.args.from === 'nowhere.txt')");
  row("verbs of lanes",
      "const s = lab.open(); expect(!('lanesOpen' in s) && !('lane' in s)); expect(lab.lanes(s, []).step(2).length === "
      "2)");
  row("error fields",
      "const e = expectError(() => view.show('nowhere'), 'unknown_view'); expect(e.field === 'view' && e.value === "
      "'nowhere')");
  row("log", "log('a', 1, {b:2}); log(undefined)");
  row("long lists",
      "expect(JSON.parse('[' + '12,'.repeat(3000000) + '1]').length === 3000001); const n = 1000000, "
      "r = lab.open().echo(new Array(n).fill(7)).a; expect(r.length === n && r[n - 1] === 7)");
  row("long texts of JSON",
      "const t = 'x'.repeat(1000000), v = JSON.parse(JSON.stringify({a: [1.5, null, true, {b: t}], c: -3})); "
      "expect(v.a[0] === 1.5 && v.a[1] === null && v.a[2] && v.a[3].b === t && v.c === -3); let thrown; "
      "try { JSON.parse('[' + t) } catch (e) { thrown = e } expect(thrown instanceof SyntaxError); "
      "expectError(() => JSON.parse(JSON.stringify(t), (k, x) => x), 'bad_argument')");
  row("picture", "const p = view.screenshot('map', 'x.png'); expect(p.width === 10)");
}

void ScriptHostTest::passes() {
  QFETCH(QString, text);
  const ScriptResult result = run(text);
  QVERIFY2(!result.failed, qPrintable(result.message()));
}

void ScriptHostTest::failsWithPlace_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<int>("line");
  QTest::addColumn<QString>("says");
  const auto row = [](const char* name, const char* text, int line, const char* says) {
    QTest::newRow(name) << QString(text) << line << QString(says);
  };
  row("expect", "\n\nexpect(1 === 2, 'one is two')", 3, "one is two");
  row("expectNear", "\nexpectNear([1,2],[1,3])", 2, "1: 2 and 3 differ");
  row("expectNear keys", "expectNear({a:1},{a:1,b:2})", 1, "b");
  row("expectError without error", "\n\nexpectError(() => 1, 'x')", 3, "no error");
  row("expectError of a text", "\nexpectError(() => { throw 'a text' }, 'x')", 2, "another error than x: a text");
  row("expectError another code", "\nexpectError(() => view.show('nowhere'), 'x')", 2, "unknown_view");
  row("in a function", "function f() {\n  expect(false)\n}\n\nf()", 2, "expectation failed");
  row("engine error", "const s = lab.open()\n\ns.throw()", 3, "thrown on purpose");
  row("too many arguments", "const s = lab.open()\ns.echo(1,2,true,4,5)", 2, "it takes 3 arguments");
  row("syntax", "const a = 1\nconst b = = 2", 2, "SyntaxError");
  row("reference", "\n\n\nnothing.here", 4, "ReferenceError");
  row("thrown number", "\nthrow 42", 2, "42");
  row("getter of closed", "const s = lab.open(); s.close()\ns.tick", 2, "closed");
}

void ScriptHostTest::failsWithPlace() {
  QFETCH(QString, text);
  QFETCH(int, line);
  QFETCH(QString, says);
  const ScriptResult result = run(text);
  QVERIFY(result.failed);
  QVERIFY2(result.message().startsWith(QString("dir/test.js:%1: ").arg(line)), qPrintable(result.message()));
  QVERIFY2(result.text.contains(says), qPrintable(result.text));
}

/// Not at the end of the script.
void ScriptHostTest::closedSessionsEndAtOnce() {
  std::vector<int> alive;
  window.shown = nullptr;
  ScriptSettings settings;
  settings.schema = fakeSchema();
  settings.log = [&](const QString&) { alive.push_back(window.state.alive); };
  ScriptHost host(window, settings);
  const ScriptResult result = host.runText(
      "const s = lab.open(); s.step(1); log('one'); s.close(); log('none'); const o = lab.open(); const f = o.fork(); "
      "f.step(1); log('two'); f.close(); log('one'); const l = lab.lanes(o, []); l.step(1); log('two'); l.close(); "
      "log('one'); o.close(); log('none'); try { lab.open({model: 'bad'}) } catch (e) { } log('none')",
      "close.js");
  QVERIFY2(!result.failed, qPrintable(result.message()));
  QCOMPARE(alive, (std::vector<int>{1, 0, 2, 1, 2, 1, 0, 0}));
}

void ScriptHostTest::stopsBeforeMemoryIsFull() {
  if (test::kSanitized) QSKIP("a sanitizer needs more address space than this test leaves");
  QFile file("/proc/self/statm");
  QVERIFY(file.open(QIODevice::ReadOnly));
  const auto taken = static_cast<rlim_t>(file.readLine().split(' ')[0].toLongLong() * sysconf(_SC_PAGESIZE));
  rlimit old{};
  QCOMPARE(getrlimit(RLIMIT_AS, &old), 0);
  const rlimit little{taken + (rlim_t{1} << 30), old.rlim_max};
  QCOMPARE(setrlimit(RLIMIT_AS, &little), 0);
  const ScriptResult result = run("const a = []; for (let i = 0;; ++i) a.push({i, text: 'text ' + i})");
  const ScriptResult after = run("expect(1 + 1 === 2)");
  QCOMPARE(setrlimit(RLIMIT_AS, &old), 0);
  QVERIFY(result.failed);
  QCOMPARE(result.error.code, std::string("out_of_memory"));
  QVERIFY2(!after.failed, qPrintable(after.message()));
}

void ScriptHostTest::manifestsMerge() {
  QVERIFY(!run("lab.open({layout:'indirection', dtype:'f16'})").failed);
  QCOMPARE(window.lastRequest, (json{{"manifest", {{"model", "demo"}, {"dtype", "f16"}, {"layout", "indirection"}}}}));
}

void ScriptHostTest::refusedSessions() {
  const ScriptResult result = run("\nlab.open({model:'bad'})");
  QVERIFY(result.failed && result.refused);
  QCOMPARE(result.line, 2);
  QVERIFY(!run("expectError(() => lab.open({model:'bad'}), 'bad_model')").failed);
  QVERIFY(!run("expect(false)").refused);
  QCOMPARE(run("throw {code: 'mine', why: 'so'}").error.what, std::string());
}

void ScriptHostTest::viewCalls() {
  const ScriptResult result =
      run("view.show('map'); view.focus({layer:1,row:4}); view.theme('light'); view.set('map', {quantity:'age'}); "
          "view.command('step', {n:2});"
          "expect(view.list().length === 2); view.caption('hello'); view.screenshot('window', 'a.png')");
  QVERIFY2(!result.failed, qPrintable(result.message()));
  QCOMPARE(window.calls[0], std::string("show map"));
  QCOMPARE(window.calls[1], std::string(R"(focus {"layer":1,"row":4})"));
  QCOMPARE(window.calls[2], std::string("theme light"));
  QCOMPARE(window.calls[3], std::string(R"(set map {"quantity":"age"})"));
  QCOMPARE(window.calls[4], std::string(R"(command step {"n":2})"));
  QVERIFY(window.calls[5].rfind("picture window after ", 0) == 0);  // it waited until the view was ready
}

/// Written with --update, then met, then missed: a difference leaves three files and names them.
void ScriptHostTest::expectations() {
  QTemporaryDir home, out;
  const auto run = [&](const QString& text, bool update) {
    QFile script(home.filePath("t.js"));
    (void)script.open(QIODevice::WriteOnly);
    script.write(text.toUtf8());
    script.close();
    ScriptSettings settings;
    settings.schema = fakeSchema();
    settings.out = out.path();
    settings.update = update;
    ScriptHost host(window, settings);
    return host.runFile(script.fileName());
  };
  const QString text =
      "expectDump('map', 'e/map.txt', {mask: /tick [0-9]+/}); expectDump({a: [1, 2]}, 'e/v.json'); "
      "expectImage('map', 'e/map.png', {share: 0.1, mask: [[0, 0, 2, 2]]})";
  const ScriptResult missing = run(text, false);
  QVERIFY(missing.failed && missing.text.contains("--update"));
  QVERIFY2(!run(text, true).failed, "written");
  QVERIFY(QFile::exists(home.filePath("e/map.png")));
  QVERIFY2(!run(text, false).failed, "met");
  window.dumped.replace("tick 3", "tick 4");
  QVERIFY2(!run(text, false).failed, "masked");

  window.dumped.replace("two", "three");
  const ScriptResult words = run(text, false);
  QVERIFY(words.failed);
  QCOMPARE(words.error.code, std::string("expectation_failed"));
  QVERIFY2(words.text.contains("line 3: “2 three” instead of “2 two”"), qPrintable(words.text));
  QVERIFY2(words.text.contains(out.path() + "/map.{actual,expected,diff}.txt"), qPrintable(words.text));
  for (const char* kind : {"actual", "expected", "diff"})
    QVERIFY(QFile::exists(out.filePath(QString("map.%1.txt").arg(kind))));
  QVERIFY(!run(text, true).failed && !run(text, false).failed);

  window.painted = Qt::black;
  const ScriptResult colours = run(text, false);
  QVERIFY2(colours.text.contains("196 of 200 pixels differ by more than 0, all inside 10x20 at (0, 0)"),
           qPrintable(colours.text));
  const ScriptResult part = run("expectImage('map', 'e/part.png', {rect: [2, 4, 6, 8], mask: [[2, 4, 6, 7]]})", true);
  QVERIFY2(!part.failed, qPrintable(part.message()));
  QCOMPARE(QImage(home.filePath("e/part.png")).size(), QSize(6, 8));
  window.painted = Qt::white;
  const ScriptResult row = run("expectImage('map', 'e/part.png', {rect: [2, 4, 6, 8], mask: [[2, 4, 6, 7]]})", false);
  QVERIFY2(row.text.contains("6 of 48 pixels differ by more than 0, all inside 6x1 at (0, 7)"), qPrintable(row.text));
  window.painted = Qt::black;
  for (const char* kind : {"actual", "expected", "diff"})
    QVERIFY(QFile::exists(out.filePath(QString("map.%1.png").arg(kind))));
  QVERIFY2(!run("expectImage('map', 'e/map.png', {tolerance: 255})", false).failed, "tolerated");
  for (const char* bad :
       {"expectImage('map', 'e/map.png', {mask: [1]})", "expectImage('map', 'e/map.png', {tolerance: -1})",
        "expectDump('map', 'e/map.txt', {mask: '('})", "expectDump('map')", "expectImage('map', 'e/map.png', {x: 1})",
        "expectImage('map', 'e/map.png', {rect: [5, 5, 6, 6]})",
        "expectImage('map', 'e/map.png', {rect: [0, 0, 0, 6]})",
        "expectImage('map', 'e/map.png', {rect: [0, 0, 1]})"}) {
    const ScriptResult refused = run(bad, false);
    QVERIFY2(refused.error.code == "bad_argument", bad);
    QVERIFY2(refused.text.contains("expectImage was refused") || refused.text.contains("expectDump was refused"),
             qPrintable(refused.text));
  }
  window.dumped.replace("three", "two").replace("tick 4", "tick 3"), window.painted = Qt::white;
}

void ScriptHostTest::personCalls() {
  const ScriptResult result =
      run("view.click('map', 3, 4, {button: 'right', modifiers: 'Ctrl+Shift'}); view.drag('map', [1, 2], [9, 8]); "
          "view.keys('map', 'Ctrl+Z'); view.type('map', 'attic')");
  QVERIFY2(!result.failed, qPrintable(result.message()));
  const std::string held = std::to_string((Qt::ControlModifier | Qt::ShiftModifier).toInt());
  const std::vector<std::string> expected{
      "show map",  "mouse map 3 -1 2 " + held, "show map", "mouse map 1 9 1 0", "show map", "keys Ctrl+Z", "show map",
      "type attic"};
  QCOMPARE(window.calls, expected);
  for (const char* bad : {"view.click('map', 'x', 1)", "view.click('map', 1, 1, {button: 'third'})",
                          "view.click('map', 1, 1, {modifiers: 'Hyper'})", "view.drag('map', [1], [2, 3])",
                          "view.keys('map', 'Knob')", "view.keys('map', '')"})
    QVERIFY2(run(bad).error.code == "bad_argument", bad);
}

/// Tests run apart from each other, each between before and after; a failed one, and one that hangs, end alone.
void ScriptHostTest::tests() {
  QTemporaryDir home;
  QStringList said;
  const auto collect = [&](const QString& text, auto look) {
    QFile script(home.filePath("t.test.js"));
    (void)script.open(QIODevice::WriteOnly);
    script.write(text.toUtf8());
    script.close();
    ScriptSettings settings;
    settings.schema = fakeSchema();
    settings.limitSeconds = 0.5;
    settings.log = [&](const QString& line) { said << line; };
    ScriptHost host(window, settings);
    look(host, host.collectTests(script.fileName()));
  };
  collect(
      "before(() => log('before')); after(() => log('after'));\n"
      "test('good', () => log('good'));\n"
      "test('bad', () => {\n  expect(false, 'why'); });\n"
      "test('text', () => { throw 'a text'; });\n"
      "test('hangs', () => { for (;;) {} });\n"
      "test('last', () => log('last'));",
      [&](ScriptHost& host, const ScriptResult& read) {
        QVERIFY2(!read.failed, qPrintable(read.message()));
        QCOMPARE(host.tests(), (QStringList{"good", "bad", "text", "hangs", "last"}));
        QVERIFY(!host.runTest(0, home.path()).failed);
        const ScriptResult bad = host.runTest(1, home.path());
        QVERIFY2(bad.failed && bad.line == 4 && bad.text.contains("why"), qPrintable(bad.message()));
        QCOMPARE(host.runTest(2, home.path()).text, QString("a text"));
        const ScriptResult hung = host.runTest(3, home.path());
        QVERIFY2(hung.failed && hung.text.contains("time limit of 0.5 s"), qPrintable(hung.message()));
        QVERIFY2(hung.message().startsWith(hung.file + ":") && hung.file.endsWith(".js"), qPrintable(hung.message()));
        QVERIFY(!host.runTest(4, home.path()).failed);
      });
  QCOMPARE(said,
           (QStringList{"before", "good", "after", "before", "after", "before", "after", "before", "after", "before",
                        "last", "after"}));
  for (const auto& [text, why] : {std::pair{"test('a', () => {}); test('a', () => {});", "two tests have the name a"},
                                  {"test('', () => {})", "the name is"},
                                  {"test('a')", "is not a function"},
                                  {"before(3)", "is not a function"},
                                  {"test('a', () => {", "SyntaxError"}})
    collect(text, [&](ScriptHost&, const ScriptResult& read) {
      QVERIFY2(read.failed && read.message().contains(why), qPrintable(read.message()));
    });
  QVERIFY(run("test('a', () => {})").text.contains("kvlab test"));  // without a collector of tests
}

/// Times of results are 0 while the clock is frozen.
void ScriptHostTest::frozenResults() {
  const QString text =
      "const r = lab.open().echo({us: 3, rows: 4, deep: [{start_us: 5}]}, 0); log(r.a.us, r.a.rows, "
      "r.a.deep[0].start_us)";
  QVERIFY(!run(text).failed);
  window.frozen = true;
  QVERIFY(!run(text).failed);
  window.frozen = false;
  QCOMPARE(logged, (QStringList{"3 4 5", "0 4 0"}));
}

void ScriptHostTest::consoleRemembers() {
  ScriptSettings settings;
  settings.schema = fakeSchema();
  ScriptHost host(window, settings);
  QVERIFY(!host.evaluateLine("s = lab.open()").failed);
  QCOMPARE(host.evaluateLine("s.step(2).length").text, QString("2"));
  QVERIFY(!host.evaluateLine("var k = s.tick").failed);
  QCOMPARE(host.evaluateLine("k + 1").text, QString("3"));
  const ScriptResult bad = host.evaluateLine("nothing()");
  QVERIFY(bad.failed);
  QCOMPARE(host.evaluateLine("k").text, QString("2"));
}

void ScriptHostTest::stopsEndlessLoops() {
  const ScriptResult result = run("for (;;) {}", 0.3);
  QVERIFY(result.failed);
  QVERIFY2(result.text.contains("time limit"), qPrintable(result.text));
  QVERIFY2(result.message().startsWith("dir/test.js:"), qPrintable(result.message()));
  QVERIFY2(!result.message().contains(":0:"), qPrintable(result.message()));
}

void ScriptHostTest::stopsWaiting() {
  ScriptSettings settings;
  settings.schema = fakeSchema();
  ScriptHost host(window, settings);
  QTimer::singleShot(100, &host, [&] { host.stop(); });
  const ScriptResult stopped =
      host.runText("const s = lab.open();\nfor (;;) { try { s.block() } catch (e) {} }", "t.js");
  QVERIFY(stopped.failed);
  QCOMPARE(stopped.error.code, std::string("cancelled"));
  QVERIFY(!host.running());
  const ScriptResult again = host.runText("expect(lab.open().step(1).length === 1)", "t.js");
  QVERIFY2(!again.failed, qPrintable(again.message()));
}

void ScriptHostTest::oneScriptAtATime() {
  ScriptSettings settings;
  settings.schema = fakeSchema();
  ScriptHost host(window, settings);
  ScriptResult inner;
  QTimer::singleShot(50, &host, [&] {
    inner = host.evaluateLine("1");
    host.stop();
  });
  (void)host.runText("lab.open().block()", "t.js");
  QCOMPARE(inner.error.code, std::string("busy"));
}

/// Member names of `interface NAME {` in the declaration file, which may stand there several times.
static QStringList declared(const QString& text, const QString& interface) {
  QStringList names;
  static const QRegularExpression member(R"(^  (?:readonly )?(\w+)\??[(:<])", QRegularExpression::MultilineOption);
  const QString front = "\ninterface " + interface + " {";
  for (qsizetype begin = text.indexOf(front); begin >= 0; begin = text.indexOf(front, begin + 1)) {
    auto matches = member.globalMatch(text.mid(begin, text.indexOf("\n}", begin) - begin));
    while (matches.hasNext()) names << matches.next().captured(1);
  }
  names.removeDuplicates();
  names.sort();
  return names;
}

void ScriptHostTest::describedByTypes() {
  QFile file(KVLAB_RESOURCES_DIR "/script_api.d.ts");
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QString text = QString::fromUtf8(file.readAll());
  ScriptSettings settings;
  settings.schema = coreSchema();
  ScriptHost host(window, settings);
  const json names = host.names();
  for (const auto& [key, interface] :
       {std::pair{"lab", "Lab"}, {"view", "View"}, {"session", "Session"}, {"lanes", "Lanes"}, {"batch", "Batch"}}) {
    QStringList registered;
    for (const json& name : names[key]) registered << QString::fromStdString(name);
    const QStringList known = declared(text, interface);
    for (const QString& name : registered) QVERIFY2(known.contains(name), qPrintable("not declared: " + name));
    for (const QString& name : known) QVERIFY2(registered.contains(name), qPrintable("not registered: " + name));
  }
  for (const json& name : names["globals"]) {
    const QString global = QString::fromStdString(name);
    QVERIFY2(text.contains(QRegularExpression("declare (const|function) " + global + "\\b")), qPrintable(global));
  }
}

KV_TEST(ScriptHostTest)
#include "script_host_test.moc"
