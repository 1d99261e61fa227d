// SPDX-License-Identifier: GPL-3.0-or-later
// What the program has besides if it is built with its window: app/windowed defines it, and app/windowless in a program
// without Qt. Main thread.
#pragma once
#include <string>
#include <vector>

#include "core/lists/named_lists.h"

namespace kvlab {

struct CommandLine;
struct Ending;

struct WindowPart {
  std::vector<NamedList> lists;  // those that only the window has
  /// True if somebody can see a window that is opened.
  bool (*watched)();
  std::vector<std::string> missing;  // subcommands that this program lacks because it was built without Qt
  /// Runs a subcommand for which isOfWindowPart() holds, or replay in a window.
  Ending (*run)(const CommandLine& line, int argc, char** argv);
};

const WindowPart& windowPart();

/// True for subcommands that need the window, or scripts.
bool isOfWindowPart(const std::string& verb);

}  // namespace kvlab
