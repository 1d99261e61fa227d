// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab: parses the command line and runs the subcommand.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>

#include "app/base/application.h"
#include "app/base/icons.h"
#include "app/cli/programs.h"

namespace {

using namespace kvlab;

/// Runs a subcommand that needs no Qt application.
Exit runPlain(const CommandLine& line) {
  using Program = Exit (*)(const CommandLine&);
  static const std::map<std::string, Program> kPrograms = {
      {"info", printInfo},          {"replay", printReplay}, {"train", runTrain}, {"perplexity", runPerplexity},
      {"clinic", runClinicCommand}, {"check", runCheck},     {"model", runModel}, {"sweep", runSweepCommand}};
  if (line.verb == "list") return printList(line);
  const auto found = kPrograms.find(line.verb);
  if (found == kPrograms.end())
    return refuse({"usage", line.verb, "not available in this version", "see kvlab --help for what is"});
  return checkResources() ? found->second(line) : Exit::Refused;
}

Exit runWindowed(const CommandLine& line, LogRelay& log) {
  if (line.verb == "run") return runScript(line, log);
  if (line.verb == "test") return runTests(line, log);
  if (line.verb == "bench") return runBench(line, log);
  return line.verb == "replay" ? showCapture(line, log) : runGui(line, log);
}

/// Runs a subcommand with a Qt application; non-interactive work uses the offscreen platform even with a display.
Exit runWithApplication(const CommandLine& line, int argc, char** argv) {
  LogRelay log;
  installLogging(line.logLevel, log);
  if (line.verb != "gui" && line.verb != "replay") useOffscreen();
  else if (const Status display = findDisplay(); !display) return refuse(display.error());
  const GuardedApplication application(argc, argv);
  QApplication::setApplicationName("kvlab");
  QApplication::setOrganizationName("kvlab");
  QApplication::setApplicationVersion(KVLAB_VERSION);
  QApplication::setDesktopFileName("kvlab");
  QApplication::setWindowIcon(programIcon());
  if (!checkResources()) return Exit::Refused;
  const Exit code = runWindowed(line, log);
  removeLogging();
  return code;
}

/// Flushes the output; the exit code says whether it was written.
int printed(Exit code) {
  const bool written = std::cout.flush() && std::fflush(stdout) == 0;
  const std::string why = std::strerror(errno);
  if (!written && code == Exit::Ok)
    code = refuse({"io", "the output was not written", why, "make room, or send it elsewhere"});
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  const auto line = parseCommandLine({argv + 1, argv + argc});
  if (!line) return static_cast<int>(refuse(line.error()));
  if (line->verb == "help") return std::cout << line->text, printed(Exit::Ok);
  if (line->verb == "version") return std::cout << "kvlab " KVLAB_VERSION "\n", printed(Exit::Ok);
  const bool capture = line->verb == "replay" && !line->verify && isWatched();
  const bool window =
      line->verb == "gui" || line->verb == "run" || line->verb == "test" || line->verb == "bench" || capture;
  return printed(window ? runWithApplication(*line, argc, argv) : runPlain(*line));
}
