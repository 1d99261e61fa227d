// SPDX-License-Identifier: GPL-3.0-or-later
// One function per subcommand, which returns the exit code, and the functions that subcommands share. Main thread;
// interrupted(): any thread.
#pragma once
#include "app/base/logging.h"
#include "app/cli/command_line.h"

namespace kvlab {

struct ScriptSettings;
struct WindowSettings;

/// Prints the error to standard error; returns its exit code.
Exit refuse(const Error& error);
/// Writes a file for --json; an empty path writes nothing. Error: io.
Status saveJson(const std::string& path, const nlohmann::json& content);
/// False, after a message, if the program's own files are missing.
bool checkResources();
/// Settings of windows and scripts from the command line, for every subcommand that makes them.
WindowSettings windowSettings(const CommandLine& line, bool headless);
ScriptSettings scriptSettings(const CommandLine& line);
/// For subcommands that stop in good order: from now on Ctrl+C and SIGTERM only set a flag.
void watchInterrupts();
/// True once one of them has come.
bool interrupted();

// These need the application object.
Exit runGui(const CommandLine& line, LogRelay& log);
Exit runScript(const CommandLine& line, LogRelay& log);
Exit runTests(const CommandLine& line, LogRelay& log);
Exit runBench(const CommandLine& line, LogRelay& log);
/// kvlab replay with a display and without --verify.
Exit showCapture(const CommandLine& line, LogRelay& log);

// These do not.
Exit printList(const CommandLine& line);
Exit printInfo(const CommandLine& line);
Exit printReplay(const CommandLine& line);
Exit runSweepCommand(const CommandLine& line);
Exit runTrain(const CommandLine& line);
Exit runPerplexity(const CommandLine& line);
Exit runModel(const CommandLine& line);
Exit runClinicCommand(const CommandLine& line);
Exit runCheck(const CommandLine& line);

}  // namespace kvlab
