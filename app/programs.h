// SPDX-License-Identifier: GPL-3.0-or-later
// One function per subcommand; each returns the exit code. Those of the first group need the
// application object, the others none. Main thread.
#pragma once
#include "app/command_line.h"
#include "app/logging.h"

namespace kvlab {

/// Says the error on standard error; the exit code for it.
int refuse(const Error& error);
/// False, with a message, if the program's own files are missing.
bool checkResources();
int runGui(const CommandLine& line, LogRelay& log);
int runScript(const CommandLine& line, LogRelay& log);
/// kvlab replay with a display and without --verify.
int showCapture(const CommandLine& line, LogRelay& log);

int printList(const CommandLine& line);
int printInfo(const CommandLine& line);
int printReplay(const CommandLine& line);
int runBench(const CommandLine& line);
int runSweepCommand(const CommandLine& line);

}  // namespace kvlab
