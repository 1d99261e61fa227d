// SPDX-License-Identifier: GPL-3.0-or-later
// One function per subcommand; each returns the exit code. The first group needs the application object. Main thread.
#pragma once
#include "app/base/logging.h"
#include "app/cli/command_line.h"

namespace kvlab {

/// Prints the error to standard error; returns its exit code.
int refuse(const Error& error);
/// False, after a message, if the program's own files are missing.
bool checkResources();
int runGui(const CommandLine& line, LogRelay& log);
int runScript(const CommandLine& line, LogRelay& log);
int runTests(const CommandLine& line, LogRelay& log);
int runBench(const CommandLine& line, LogRelay& log);
/// kvlab replay with a display and without --verify.
int showCapture(const CommandLine& line, LogRelay& log);

int printList(const CommandLine& line);
int printInfo(const CommandLine& line);
int printReplay(const CommandLine& line);
int runSweepCommand(const CommandLine& line);
int runTrain(const CommandLine& line);
int runPerplexity(const CommandLine& line);
int runModel(const CommandLine& line);
int runClinicCommand(const CommandLine& line);
int runCheck(const CommandLine& line);

}  // namespace kvlab
