// SPDX-License-Identifier: GPL-3.0-or-later
// How a subcommand ended, and the one writer of what --json asks for. Main thread.
#pragma once
#include "app/cli/command_line.h"

namespace kvlab {

struct Ending {
  nlohmann::json value;   // what --json writes
  Exit exit = Exit::Ok;   // code of the process
  std::string line = {};  // for standard error; empty = none

  Ending() = default;
  Ending(nlohmann::json made, Exit code = Exit::Ok);
  /// A refusal: {"error": {..}}, its line, and the exit code of its error code.
  Ending(const Error& error);
  /// A failure with results: the value is an object, which gets "error".
  Ending(nlohmann::json made, Exit code, const Error& error);
};

/// Keeps standard output for one JSON value while a subcommand runs: what it prints, and what the scripts and processes
/// print that it starts, goes to standard error. Does nothing unless `keep`.
class KeptOutput {
 public:
  explicit KeptOutput(bool keep);
  ~KeptOutput();
  KeptOutput(const KeptOutput&) = delete;
  KeptOutput& operator=(const KeptOutput&) = delete;

 private:
  int m_output = -1;  // where standard output went before
};

/// Writes a JSON file, whole or not at all. Bytes that are no UTF-8 become U+FFFD. Error: io.
Status saveJson(const std::string& path, const nlohmann::json& content);
/// Prints the line, writes the value where --json says (CommandLine::json), and flushes the output. The exit code,
/// which also says whether everything was written.
int finish(const Ending& ending, const std::optional<std::string>& where);

}  // namespace kvlab
