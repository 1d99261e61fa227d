// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of windows and scripts from the command line, for every subcommand that makes them. Main thread.
#pragma once
#include "app/command_line.h"
#include "app/main_window.h"

namespace kvlab {

WindowSettings windowSettings(const CommandLine& line, bool headless);
ScriptSettings scriptSettings(const CommandLine& line);

}  // namespace kvlab
