// SPDX-License-Identifier: GPL-3.0-or-later
// One function per subcommand, which says how it ended, and the functions that subcommands share. A function prints for
// people, unless standard output is for JSON (CommandLine::printsJson): then results go into the ending alone. Main
// thread; interrupted(): any thread.
#pragma once
#include "app/base/logging.h"
#include "app/cli/ending.h"

namespace kvlab {

struct ScriptSettings;
struct WindowSettings;

/// Error (no_resources): the program's own files are missing.
Status checkResources();
/// Settings of windows and scripts from the command line, for every subcommand that makes them.
WindowSettings windowSettings(const CommandLine& line, bool headless);
ScriptSettings scriptSettings(const CommandLine& line);
/// For subcommands that stop in good order: from now on Ctrl+C and SIGTERM only set a flag.
void watchInterrupts();
/// True once one of them has come.
bool interrupted();

// These need the application object.
Ending runGui(const CommandLine& line, LogRelay& log);
Ending runScript(const CommandLine& line, LogRelay& log);
Ending runTests(const CommandLine& line, LogRelay& log);
Ending runBench(const CommandLine& line, LogRelay& log);
/// kvlab replay with a display, without --verify and --json.
Ending showCapture(const CommandLine& line, LogRelay& log);

// These do not.
Ending printList(const CommandLine& line);
Ending printInfo(const CommandLine& line);
Ending printReplay(const CommandLine& line);
Ending runSweepCommand(const CommandLine& line);
Ending runTrain(const CommandLine& line);
Ending runPerplexity(const CommandLine& line);
Ending runModel(const CommandLine& line);
Ending runClinicCommand(const CommandLine& line);
Ending runCheck(const CommandLine& line);
Ending runCompare(const CommandLine& line);

}  // namespace kvlab
