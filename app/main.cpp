// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab: parses the command line and runs the subcommand.
#include <iostream>
#include <map>

#include "app/base/application.h"
#include "app/base/icons.h"
#include "app/cli/programs.h"

namespace {

using namespace kvlab;

/// Runs a subcommand that needs no Qt application.
Ending runPlain(const CommandLine& line) {
  using Program = Ending (*)(const CommandLine&);
  static const std::map<std::string, Program> kPrograms = {
      {"info", printInfo},           {"replay", printReplay},      {"train", runTrain},
      {"perplexity", runPerplexity}, {"clinic", runClinicCommand}, {"check", runCheck},
      {"compare", runCompare},       {"model", runModel},          {"sweep", runSweepCommand}};
  if (line.verb == "list") return printList(line);
  const auto found = kPrograms.find(line.verb);
  if (found == kPrograms.end())
    return Error("usage", line.verb, "not available in this version", "see kvlab --help for what is");
  KV_TRY(checkResources());
  return found->second(line);
}

Ending runWindowed(const CommandLine& line, LogRelay& log) {
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
  Ending ending = runWindowed(line, log);
  removeLogging();
  return ending;
}

Ending run(const CommandLine& line, int argc, char** argv) {
  const KeptOutput kept(line.printsJson());
  const bool capture = line.verb == "replay" && !line.verify && !line.json && isWatched();
  const bool window =
      line.verb == "gui" || line.verb == "run" || line.verb == "test" || line.verb == "bench" || capture;
  return window ? runWithApplication(line, argc, argv) : runPlain(line);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto line = parseCommandLine(arguments);
  if (!line) return finish(line.error(), jsonAsked(arguments));
  if (line->verb == "help") return std::cout << line->text, finish({}, {});
  if (line->verb == "version") return std::cout << "kvlab " KVLAB_VERSION "\n", finish({}, {});
  return finish(run(*line, argc, argv), line->json);
}
