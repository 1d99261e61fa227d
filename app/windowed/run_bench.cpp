// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab bench. Each script has a window of its own, which stays hidden: its views do nothing beside the engine.
#include <QTemporaryDir>
#include <iostream>

#include "app/cli/bench.h"
#include "app/plain/resources.h"
#include "app/window/main_window.h"
#include "app/windowed/windowed.h"

namespace kvlab {
namespace {

Result<std::string> rowsOf(const CommandLine& line, LogRelay& log, const std::string& name) {
  const QTemporaryDir scratch;  // for files that scripts write; nobody asked for them
  MainWindow window(windowSettings(line, true));
  QObject::connect(&log, &LogRelay::line, &window.context(), &InspectorContext::logged);
  ScriptSettings settings = scriptSettings(line);
  settings.args = {line.quick ? "quick" : "", QString::fromStdString(line.manifest.value("model", ""))};
  settings.out = scratch.path();
  settings.log = [](const QString& text) { std::cerr << "kvlab: " << text.toStdString() << std::endl; };
  ScriptHost host(window, settings);
  const QString folder = QString::fromStdString(resourceRoot() + "/bench/");
  ScriptResult result = host.runFile(folder + "parts/rig.js");
  if (!result.failed) result = host.runFile(folder + QString::fromStdString(name) + ".js");
  if (!result.failed) result = host.runText("return bench.rows", "bench");
  if (result.failed && result.error.code == "script_error")
    return Error("script_error", result.message().toStdString(), "", "");
  if (result.failed) return result.error;
  return result.text.toStdString();
}

}  // namespace

Ending runBench(const CommandLine& line, LogRelay& log) {
  return runBenches(line, [&](const std::string& name) { return rowsOf(line, log, name); });
}

}  // namespace kvlab
