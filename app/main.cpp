// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab: parses the command line and runs the subcommand.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "app/base/application.h"
#include "app/base/icons.h"
#include "app/cli/programs.h"

namespace {

using namespace kvlab;

/// Runs a subcommand that needs no Qt application.
int runPlain(const CommandLine& line) {
  if (line.verb == "list") return printList(line);
  if (line.verb == "info") return checkResources() ? printInfo(line) : static_cast<int>(Exit::Refused);
  if (line.verb == "replay") return checkResources() ? printReplay(line) : static_cast<int>(Exit::Refused);
  if (line.verb == "train") return checkResources() ? runTrain(line) : static_cast<int>(Exit::Refused);
  if (line.verb == "perplexity") return checkResources() ? runPerplexity(line) : static_cast<int>(Exit::Refused);
  if (line.verb == "clinic") return checkResources() ? runClinicCommand(line) : static_cast<int>(Exit::Refused);
  if (line.verb == "check") return checkResources() ? runCheck(line) : static_cast<int>(Exit::Refused);
  if (line.verb == "model") return checkResources() ? runModel(line) : static_cast<int>(Exit::Refused);
  if (line.verb == "sweep") return checkResources() ? runSweepCommand(line) : static_cast<int>(Exit::Refused);
  return refuse({"usage", line.verb, "not available in this version", "see kvlab --help for what is"});
}

int runWindowed(const CommandLine& line, LogRelay& log) {
  if (line.verb == "run") return runScript(line, log);
  if (line.verb == "test") return runTests(line, log);
  if (line.verb == "bench") return runBench(line, log);
  return line.verb == "replay" ? showCapture(line, log) : runGui(line, log);
}

/// Runs a subcommand with a Qt application; non-interactive work uses the offscreen platform even with a display.
int runWithApplication(const CommandLine& line, int argc, char** argv) {
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
  if (!checkResources()) return static_cast<int>(Exit::Refused);
  const int code = runWindowed(line, log);
  removeLogging();
  return code;
}

/// Flushes the output; the exit code says whether it was written.
int printed(int code) {
  if (std::cout.flush() && std::fflush(stdout) == 0) return code;
  const std::string why = std::strerror(errno);
  return code != 0 ? code : refuse({"io", "the output was not written", why, "make room, or send it elsewhere"});
}

}  // namespace

int main(int argc, char** argv) {
  const auto line = parseCommandLine({argv + 1, argv + argc});
  if (!line) return refuse(line.error());
  if (line->verb == "help") return std::cout << line->text, printed(0);
  if (line->verb == "version") return std::cout << "kvlab " KVLAB_VERSION "\n", printed(0);
  const bool capture = line->verb == "replay" && !line->verify && isWatched();
  const bool window =
      line->verb == "gui" || line->verb == "run" || line->verb == "test" || line->verb == "bench" || capture;
  return printed(window ? runWithApplication(*line, argc, argv) : runPlain(*line));
}
