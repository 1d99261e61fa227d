// SPDX-License-Identifier: GPL-3.0-or-later
// Runs another program and waits for its end: interpreters of Python, which fetch models and train. Any thread.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace kvlab {

struct ChildOrder {
  std::string program;  // a path, or a name that PATH has
  std::vector<std::string> arguments;
  /// Lines of its standard output, as they come; without it the child writes to ours.
  std::function<void(const std::string& line)> said = {};
  bool quiet = false;  // its standard error goes nowhere
  /// Asked ten times a second. True: the child gets SIGTERM, and SIGKILL if it lives on for five seconds.
  std::function<bool()> stopped = {};
};

struct ChildEnd {
  bool started = false;  // false: there is no such program, or it may not be run
  int exitCode = -1;     // -1 = a signal ended it
};

/// The child reads nothing, and a Python in it leaves no bytecode behind.
ChildEnd runChild(const ChildOrder& order);

}  // namespace kvlab
