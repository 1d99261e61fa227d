// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/script/script_host.h"

#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>

#include "app/script/app_files.h"
#include "app/script/bounded_file.h"
#include "app/script/script_calls.h"
#include "app/script/watchdog.h"

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

}  // namespace

struct ScriptHost::Parts {
  Parts(WindowPort& window, ScriptSettings given)
      : settings(std::move(given)), calls(window, settings), watchdog(engine) {}
  ScriptSettings settings;
  QJSEngine engine;
  ScriptCalls calls;
  Watchdog watchdog;
  QJSValue language;
  int depth = 0;
};

QString ScriptResult::message() const {
  if (file.isEmpty()) return text;
  return QString("%1:%2: %3").arg(file).arg(line).arg(text);
}

ScriptHost::ScriptHost(WindowPort& window, ScriptSettings settings, QObject* parent)
    : QObject(parent), m(std::make_unique<Parts>(window, std::move(settings))) {
  QJSEngine::setObjectOwnership(&m->calls, QJSEngine::CppOwnership);
  m->calls.onCall = [this](bool inside) { m->watchdog.native(inside); };
  m->calls.expired = [this] { return m->watchdog.expired(); };
  const QJSValue prelude = m->engine.evaluate(preludeText(), kPrelude, 1);
  m->language = prelude.call({m->engine.newQObject(&m->calls), QString(kPrelude), m->engine.globalObject()});
  for (const QJSValue& value : {prelude, m->language})
    if (value.isError())
      qCritical("prelude.js:%d: %s", value.property("lineNumber").toInt(), qPrintable(value.toString()));
}

ScriptHost::~ScriptHost() = default;

bool ScriptHost::running() const { return m->depth > 0; }

nlohmann::json ScriptHost::names() const {
  const QJSValue names = m->language.property("names").call();
  const QJSValue text = m->engine.globalObject().property("JSON").property("stringify").call({names});
  return nlohmann::json::parse(text.toString().toStdString(), nullptr, false);
}

void ScriptHost::stop() {
  if (!running()) return;
  m->calls.stop();
  m->engine.setInterrupted(true);
}

ScriptResult ScriptHost::runFile(const QString& path) {
  const auto bytes = readBounded(path, "script " + path.toStdString() + " was not run");
  m->calls.setFolder(QFileInfo(path).absolutePath());
  if (bytes) return runText(QString::fromUtf8(*bytes), path);
  ScriptResult result;
  result.failed = result.refused = true;
  result.error = bytes.error();
  result.text = QString::fromStdString(result.error.text());
  return result;
}

/// Runs the script inside a function, so that a second run may declare the same names.
ScriptResult ScriptHost::runText(const QString& text, const QString& file) {
  return evaluate("(function(){" + text + "\n})()", file, 1);
}

ScriptResult ScriptHost::evaluateLine(const QString& line) {
  if (!m->engine.globalObject().hasOwnProperty("s")) m->language.property("console").call();
  return evaluate(line, "console", 1);
}

ScriptResult ScriptHost::evaluate(const QString& code, const QString& file, int line) {
  return guarded([&](QStringList& stack) { return m->engine.evaluate(code, file, line, &stack); });
}

ScriptResult ScriptHost::collectTests(const QString& path) {
  m->language.property("collecting").call({true});
  ScriptResult result = runFile(path);
  m->language.property("collecting").call({false});
  return result;
}

QStringList ScriptHost::tests() const { return m->language.property("tests").call().toVariant().toStringList(); }

ScriptResult ScriptHost::runTest(int index, const QString& out) {
  m->settings.out = out;
  ScriptResult first = runPart("before", index);
  if (!first.failed) first = runPart("test", index);
  const ScriptResult last = runPart("after", index);
  return first.failed ? first : last;
}

ScriptResult ScriptHost::runPart(const QString& part, int index) {
  return guarded([&](QStringList& stack) {
    const QJSValue ran = m->language.property("runPart").call({part, index});
    if (ran.isError()) return ran;
    if (!ran.hasProperty("thrown")) return QJSValue();
    stack << QString();
    return ran.property("thrown");
  });
}

ScriptResult ScriptHost::guarded(const std::function<QJSValue(QStringList& stack)>& work) {
  if (running()) {
    ScriptResult busy;
    busy.failed = true;
    busy.error = {"busy", "the script was not run", "another script is running", "stop it or wait for its end"};
    busy.text = QString::fromStdString(busy.error.text());
    return busy;
  }
  ++m->depth;
  emit runningChanged(true);
  m->calls.restart();
  m->engine.setInterrupted(false);
  m->watchdog.start(m->settings.limitSeconds, m->settings.silentSeconds);
  QStringList stack;
  const QJSValue value = work(stack);
  const QString late = m->watchdog.finish();
  m->engine.setInterrupted(false);
  --m->depth;
  ScriptResult result;
  if (value.isError() || !stack.isEmpty()) {
    result = describe(value, stack);
    if (!late.isEmpty()) result.text = late;
    else if (m->calls.isStopped()) result.error = ScriptCalls::cancelled();  // wherever the script was
  } else if (!value.isUndefined()) {
    result.text = m->language.property("print").call({value}).toString();
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
    const auto text = [&](const char* key) { return thrown.property(key).toString().toStdString(); };
    result.error = {code.toStdString(), text("what"), text("why"), text("remedy")};
  }
  const QString trace = thrown.isError() ? thrown.property("stack").toString() : frames(stack);
  const QJSValue place = m->language.property("caller").call({trace});
  result.file = cleanFile(place.property("file").toString());
  result.line = place.property("line").toInt();
  if (result.line == 0 && thrown.isError()) {  // a syntax error has no stack frames
    result.file = cleanFile(thrown.property("fileName").toString());
    result.line = thrown.property("lineNumber").toInt();
  }
  return result;
}

}  // namespace kvlab
