// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of windows and scripts from the command line, for every subcommand that makes them. Main thread.
#pragma once
#include "app/cli/command_line.h"
#include "app/window/main_window.h"

namespace kvlab {

WindowSettings windowSettings(const CommandLine& line, bool headless);
ScriptSettings scriptSettings(const CommandLine& line);

}  // namespace kvlab
