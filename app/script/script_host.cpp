// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/script_host.h"

#include <QEventLoop>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSemaphore>
#include <QThread>
#include <atomic>
#include <optional>

#include "app/base/app_files.h"
#include "app/plain/read_file.h"
#include "app/script/input_gate.h"
#include "app/script/script_native.h"
#include "app/script/watchdog.h"
#include "core/api/guarded.h"

namespace kvlab {

namespace {

constexpr auto kPrelude = "kvlab_prelude.js";

QString preludeText() {
  loadAppFiles();
  QFile file(":/kvlab/script/prelude.js");
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QString cleanFile(QString file) {
  if (file.startsWith("file:")) file.remove(0, 5);
  while (file.startsWith("//")) file.remove(0, 1);
  return file;
}

/// Stack frames in the form "function:line:column:file" that evaluate() uses.
QString frames(const QStringList& stack) {
  static const QRegularExpression form("^(.*?):(-?\\d+):(-?\\d+):(.*)$");
  QStringList lines;
  for (const QString& frame : stack) {
    const auto match = form.match(frame);
    lines << QString("%1@%2:%3").arg(match.captured(1), match.captured(4), match.captured(2));
  }
  return lines.join('\n');
}

ScriptResult failure(const Error& error) {
  return {.failed = true, .text = QString::fromStdString(error.text()), .file = {}, .error = error};
}

}  // namespace

/// Objects of the script's thread: made, used and deleted there.
struct ScriptLanguage {
  ScriptLanguage(ScriptCalls& calls, ScriptNative::OnGui onGui) : native(engine, calls, std::move(onGui)) {
    QJSEngine::setObjectOwnership(&native, QJSEngine::CppOwnership);
    const QJSValue prelude = engine.evaluate(preludeText(), kPrelude, 1);
    value = prelude.call({engine.newQObject(&native), QString(kPrelude), engine.globalObject()});
    for (const QJSValue& made : {prelude, value})
      if (made.isError())
        qCritical("prelude.js:%d: %s", made.property("lineNumber").toInt(), qPrintable(made.toString()));
  }
  QJSValue call(const char* name, const QJSValueList& args = {}) { return value.property(name).call(args); }

  QJSEngine engine;
  ScriptNative native;
  QJSValue value;
};

struct ScriptHost::Parts {
  Parts(WindowPort& window, ScriptSettings given) : settings(std::move(given)), calls(window, settings) {
    thread.setStackSize(kStack);
    thread.start();
    worker.moveToThread(&thread);
    run([this] {
      language = std::make_unique<ScriptLanguage>(calls, [this](const std::function<void()>& work) { onGui(work); });
    });
  }
  ~Parts() {
    run([this] { language.reset(); });
    thread.quit();
    thread.wait();
  }

  /// Runs on the script's thread and waits; for work that calls nothing of the window.
  template <class Work>
  void run(const Work& work) {
    QMetaObject::invokeMethod(&worker, work, Qt::BlockingQueuedConnection);
  }
  /// The same for any work: the window lives meanwhile, and input reaches only marked widgets.
  template <class Work>
  void runLong(const Work& work) {
    bool done = false;
    gate.emplace();
    QMetaObject::invokeMethod(&worker, [&] {
      work();
      QMetaObject::invokeMethod(
          &calls, [&] { done = true; }, Qt::QueuedConnection);
    });
    QEventLoop loop;
    while (!done) {
      loop.processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
      if (const auto* call = waiting.exchange(nullptr)) answer(*call);
    }
    gate.reset();
  }
  /// For the script's thread: the loop of runLong() makes the call. It does not come as an event, because what waits
  /// within an event can miss others that are posted meanwhile.
  void onGui(const std::function<void()>& call) {
    waiting = &call;
    QMetaObject::invokeMethod(
        &calls, [] {}, Qt::QueuedConnection);  // ends the wait of the loop
    answered.acquire();
  }
  /// Lets through the events that a script causes itself, such as a click.
  void answer(const std::function<void()>& call) {
    gate.reset();
    (void)kvlab::guarded("the call of a script was stopped", [&] { return call(), ok(); });
    gate.emplace();
    answered.release();
  }

  static constexpr uint kStack = 8 << 20;
  ScriptSettings settings;
  ScriptCalls calls;
  QThread thread;
  QObject worker;
  std::unique_ptr<ScriptLanguage> language;
  Watchdog watchdog;
  std::optional<InputGate> gate;
  std::atomic<const std::function<void()>*> waiting = nullptr;  // the call that the script waits for
  QSemaphore answered;
  QString file;  // the one that was evaluated last
  int depth = 0;
};

QString ScriptResult::place() const { return line > 0 ? file + ":" + QString::number(line) : file; }

QString ScriptResult::message() const { return file.isEmpty() ? text : place() + ": " + text; }

ScriptHost::ScriptHost(WindowPort& window, ScriptSettings settings, QObject* parent)
    : QObject(parent), m(std::make_unique<Parts>(window, std::move(settings))) {
  m->calls.onCall = [this](bool inside) { m->watchdog.native(inside); };
  m->calls.expired = [this] { return m->watchdog.expired(); };
}

ScriptHost::~ScriptHost() = default;

bool ScriptHost::running() const { return m->depth > 0; }

nlohmann::json ScriptHost::names() const {
  QString text;
  m->run([&] { text = m->language->call("namesText").toString(); });
  return nlohmann::json::parse(text.toStdString(), nullptr, false);
}

void ScriptHost::stop() {
  if (!running()) return;
  m->calls.stop();
  m->language->engine.setInterrupted(true);
}

ScriptResult ScriptHost::runFile(const QString& path) {
  const auto bytes = readBounded(path.toStdString(), "script " + path.toStdString() + " was not run");
  m->calls.setFolder(QFileInfo(path).absolutePath());
  if (bytes) return runText(QString::fromStdString(*bytes), path);
  ScriptResult result = failure(bytes.error());
  result.refused = true;
  return result;
}

/// Runs the script inside a function, so that a second run may declare the same names.
ScriptResult ScriptHost::runText(const QString& text, const QString& file) {
  return evaluate("(function(){" + text + "\n})()", file, 1);
}

ScriptResult ScriptHost::evaluateLine(const QString& line) {
  if (!running())  // else its thread waits for this one
    m->run([this] {
      if (!m->language->engine.globalObject().hasOwnProperty("s")) m->language->call("console");
    });
  return evaluate(line, "console", 1);
}

ScriptResult ScriptHost::evaluate(const QString& code, const QString& file, int line) {
  return guarded([&](QStringList& stack) {
    m->file = file;
    return m->language->engine.evaluate(code, file, line, &stack);
  });
}

ScriptResult ScriptHost::collectTests(const QString& path) {
  m->run([this] { m->language->call("collecting", {true}); });
  ScriptResult result = runFile(path);
  m->run([this] { m->language->call("collecting", {false}); });
  return result;
}

QStringList ScriptHost::tests() const {
  QStringList names;
  m->run([&] { names = m->language->call("tests").toVariant().toStringList(); });
  return names;
}

ScriptResult ScriptHost::runTest(int index, const QString& out) {
  m->settings.out = out;
  ScriptResult first = runPart("before", index);
  if (!first.failed) first = runPart("test", index);
  const ScriptResult last = runPart("after", index);
  return first.failed ? first : last;
}

ScriptResult ScriptHost::runPart(const QString& part, int index) {
  return guarded([&](QStringList& stack) {
    const QJSValue ran = m->language->call("runPart", {part, index});
    if (ran.isError()) return ran;
    if (!ran.hasProperty("thrown")) return QJSValue();
    stack << QString();
    return ran.property("thrown");
  });
}

ScriptResult ScriptHost::guarded(const std::function<QJSValue(QStringList& stack)>& work) {
  if (running())
    return failure({"busy", "the script was not run", "another script is running", "stop it or wait for its end"});
  ++m->depth;
  emit runningChanged(true);
  m->calls.restart();
  QJSEngine& engine = m->language->engine;
  engine.setInterrupted(false);
  m->watchdog.start(m->settings.limitSeconds, m->settings.silentSeconds, [&engine] { engine.setInterrupted(true); });
  ScriptResult result;
  Error late;
  m->runLong([&] {
    const Status ran = kvlab::guarded("the script was stopped", [&] {
      QStringList stack;
      const QJSValue value = work(stack);
      late = m->watchdog.finish();
      engine.setInterrupted(false);
      if (value.isError() || !stack.isEmpty()) result = describe(value, stack);
      else if (!value.isUndefined()) result.text = m->language->call("print", {value}).toString();
      return ok();
    });
    if (ran) return;
    result = failure(ran.error());
    result.file = m->file;
  });
  --m->depth;
  if (result.failed && !late.code.empty()) {
    result.text = QString::fromStdString(late.what);
    if (late.code != "script_error") result.error = late;
  } else if (result.failed && m->calls.isStopped()) {
    result.error = ScriptCalls::cancelled();  // wherever the script was
  }
  emit runningChanged(false);
  return result;
}

ScriptResult ScriptHost::describe(const QJSValue& thrown, const QStringList& stack) const {
  ScriptResult result;
  result.failed = true;
  result.text = thrown.isError() ? thrown.property("message").toString() : thrown.toString();
  const QString code = thrown.property("code").isString() ? thrown.property("code").toString() : "";
  result.refused = thrown.property("refused").toBool();
  if (code.isEmpty()) {
    const QString kind = thrown.isError() ? thrown.property("name").toString() + ": " : QString();
    result.text = kind + result.text;
    result.error = {"script_error", result.text.toStdString(), "", ""};
  } else {
    const auto text = [&](const char* key) {
      const QJSValue value = thrown.property(key);
      return value.isString() ? value.toString().toStdString() : std::string();
    };
    result.error = {code.toStdString(), text("what"), text("why"), text("remedy")};
  }
  const QString trace = thrown.isError() ? thrown.property("stack").toString() : frames(stack);
  const QJSValue place = m->language->call("caller", {trace});
  if (place.property("file").isString()) result.file = cleanFile(place.property("file").toString());
  result.line = place.property("line").toInt();
  if (result.line == 0 && thrown.isError() && thrown.property("fileName").isString()) {  // a syntax error: no stack
    result.file = cleanFile(thrown.property("fileName").toString());
    result.line = thrown.property("lineNumber").toInt();
  }
  if (result.file.isEmpty()) result.file = m->file;  // an interrupt has no place
  return result;
}

}  // namespace kvlab
