// SPDX-License-Identifier: GPL-3.0-or-later
// The window's part of the program: its subcommands in a Qt application, and its lists.
#include "app/cli/window_part.h"

#include "app/base/application.h"
#include "app/base/icons.h"
#include "app/cli/programs.h"
#include "app/commands/command_registry.h"
#include "app/windowed/windowed.h"
#include "widgets/base/view_registry.h"

namespace kvlab {

using nlohmann::json;

namespace {

json listViews() {
  json list = json::array();
  for (const ViewInfo& view : views()) list.push_back({{"id", view.id}, {"title", view.title}, {"help", view.help}});
  return list;
}

json listCommands() {
  json list = json::array();
  for (const Command& command : builtinCommands(viewNames())) list.push_back(toJson(command));
  return list;
}

Ending runVerb(const CommandLine& line, LogRelay& log) {
  if (line.verb == "run") return runScript(line, log);
  if (line.verb == "test") return runTests(line, log);
  if (line.verb == "bench") return runBench(line, log);
  return line.verb == "replay" ? showCapture(line, log) : runGui(line, log);
}

/// Runs a subcommand with a Qt application; non-interactive work uses the offscreen platform even with a display.
Ending runWithApplication(const CommandLine& line, int argc, char** argv) {
  LogRelay log;
  installLogging(line.logLevel, log);
  if (line.verb != "gui" && line.verb != "replay") useOffscreen();
  else KV_TRY(findDisplay());
  const GuardedApplication application(argc, argv);
  QApplication::setApplicationName("kvlab");
  QApplication::setOrganizationName("kvlab");
  QApplication::setApplicationVersion(KVLAB_VERSION);
  QApplication::setDesktopFileName("kvlab");
  QApplication::setWindowIcon(programIcon());
  KV_TRY(checkResources());
  Ending ending = runVerb(line, log);
  removeLogging();
  return ending;
}

}  // namespace

const WindowPart& windowPart() {
  static const WindowPart kPart{
      {{"views", listViews, {{"id", "View"}, {"title", "Title"}, {"help", "What it shows"}}},
       {"commands",
        listCommands,
        {{"id", "Command"}, {"keys", "Keys"}, {"args", "Arguments"}, {"help", "What it does"}}}},
      isWatched,
      {},
      runWithApplication};
  return kPart;
}

}  // namespace kvlab
