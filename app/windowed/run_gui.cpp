// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab, and kvlab replay with a display: the window. kvlab run: a script with a window that stays hidden.
#include <QApplication>
#include <QDir>
#include <QSettings>
#include <QTimer>
#include <iostream>

#include "app/base/session_request.h"
#include "app/engine/core_engine.h"
#include "app/plain/resources.h"
#include "app/window/main_window.h"
#include "app/windowed/windowed.h"
#include "core/api/read_json.h"
#include "core/lists/lists.h"

namespace kvlab {

using nlohmann::json;

namespace {

QString backendNote() {
  QStringList lines;
  for (const json& backend : listBackends(false))
    lines << QString("%1: %2%3")
                 .arg(QString::fromStdString(backend["id"]).toUpper(),
                      backend["available"].get<bool>() ? "" : "not available, ",
                      QString::fromStdString(backend["why"]));
  return lines.join('\n');
}

/// A demo session begins with its story, so that the window shows something.
void openFirst(MainWindow& window, json request) {
  if (request.contains("manifest") && memberOr(member(request, "manifest"), "model", std::string("demo")) == "demo")
    request["start"] = storyStart();
  window.openSession(request, [&window](const Result<SessionPtr>& opened) {
    if (!opened) emit window.context().failed(opened.error());
  });
}

Ending showWindow(const CommandLine& line, LogRelay& log, const json& request) {
  WindowSettings settings = windowSettings(line, false);
  settings.recovery = recoveryFolder();
  MainWindow window(std::move(settings));
  QObject::connect(&log, &LogRelay::line, &window.context(), &InspectorContext::logged);
  (void)window.views().setOptions("map", {{"quantity", "received"}});  // new rows all have the same brightness
  window.show();
  openFirst(window, request);
  window.offerLeftSession();
  return {nullptr, static_cast<Exit>(QApplication::exec())};
}

/// The line of the error begins with its place.
Ending failedScript(const ScriptResult& result, json value) {
  if (!result.file.isEmpty()) value.update({{"file", result.file.toStdString()}, {"line", result.line}});
  Error error = result.error;
  if (error.code == "script_error") error.what = result.text.toStdString();  // also of a time limit
  Ending ending(std::move(value), result.refused ? Exit::Refused : Exit::Failed, error);
  if (!result.refused || !result.file.isEmpty()) ending.line = "kvlab: error: " + result.message().toStdString();
  return ending;
}

}  // namespace

WindowSettings windowSettings(const CommandLine& line, bool headless) {
  WindowSettings settings;
  settings.engines = coreEngines(resourceRoot());
  settings.schema = coreSchema();
  settings.manifest = line.manifest;
  settings.headless = headless;
  settings.backendNote = backendNote();
  settings.memory = modelDescriber(resourceRoot());
  if (!headless) settings.theme = QSettings().value("window/theme", "dark").toString();
  return settings;
}

ScriptSettings scriptSettings(const CommandLine& line) {
  ScriptSettings settings;
  settings.schema = coreSchema();
  settings.manifest = line.manifest;
  settings.resources = QString::fromStdString(resourceRoot());
  for (const std::string& one : line.args) settings.args << QString::fromStdString(one);
  settings.out = QString::fromStdString(line.out);
  settings.limitSeconds = line.limit;
  settings.update = line.update;
  settings.log = [](const QString& text) { std::cout << text.toStdString() << std::endl; };
  return settings;
}

Ending runGui(const CommandLine& line, LogRelay& log) { return showWindow(line, log, {{"manifest", line.manifest}}); }

Ending showCapture(const CommandLine& line, LogRelay& log) {
  json request{{"capture", line.file}};
  if (line.to >= 0) request["to"] = line.to;
  return showWindow(line, log, request);
}

Ending runScript(const CommandLine& line, LogRelay& log) {
  json said = json::array();
  MainWindow window(windowSettings(line, true));
  QObject::connect(&log, &LogRelay::line, &window.context(), &InspectorContext::logged);
  window.show();  // on the offscreen platform the window is laid out but not visible
  window.context().setRest(19);
  if (line.frozenClock) window.freezeClock();
  ScriptSettings settings = scriptSettings(line);
  if (line.json)
    settings.log = [&said, print = settings.log](const QString& text) {
      print(text);
      said.push_back(text.toStdString());
    };
  if (!settings.out.isEmpty() && !QDir().mkpath(settings.out))
    return Error("io", "--out " + line.out, "the folder cannot be created", "name another folder");
  ScriptHost host(window, settings);
  const ScriptResult result = host.runFile(QString::fromStdString(line.file));
  json value{{"ok", !result.failed}, {"log", std::move(said)}};
  return result.failed ? failedScript(result, std::move(value)) : Ending(std::move(value));
}

}  // namespace kvlab
