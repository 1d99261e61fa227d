// SPDX-License-Identifier: GPL-3.0-or-later
// What the command line says of windows and scripts, for every subcommand that makes them. Main thread.
#pragma once
#include "app/command_line.h"
#include "app/main_window.h"

namespace kvlab {

WindowSettings windowSettings(const CommandLine& line, bool headless);
ScriptSettings scriptSettings(const CommandLine& line);

}  // namespace kvlab
