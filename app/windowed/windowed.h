// SPDX-License-Identifier: GPL-3.0-or-later
// The subcommands that need the application object, one function each, and the settings that they share. Main thread.
#pragma once
#include "app/base/logging.h"
#include "app/cli/ending.h"

namespace kvlab {

struct ScriptSettings;
struct WindowSettings;

/// Settings of windows and scripts from the command line, for every subcommand that makes them.
WindowSettings windowSettings(const CommandLine& line, bool headless);
ScriptSettings scriptSettings(const CommandLine& line);

Ending runGui(const CommandLine& line, LogRelay& log);
Ending runScript(const CommandLine& line, LogRelay& log);
Ending runTests(const CommandLine& line, LogRelay& log);
Ending runBench(const CommandLine& line, LogRelay& log);
/// kvlab replay with a display, without --verify and --json.
Ending showCapture(const CommandLine& line, LogRelay& log);

}  // namespace kvlab
