// SPDX-License-Identifier: GPL-3.0-or-later
// What the program has besides if it is built with its window: app/windowed defines it, and app/without_window.cpp in a
// program without Qt. Main thread.
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
  /// Runs one of windowVerbs(), or replay in a window. Null: this program was built without Qt.
  Ending (*run)(const CommandLine& line, int argc, char** argv);
};

const WindowPart& windowPart();

/// Subcommands that need the window, or the script engine, which is Qt's as well.
const std::vector<std::string>& windowVerbs();
bool needsWindow(const std::string& verb);

}  // namespace kvlab
