// SPDX-License-Identifier: GPL-3.0-or-later
// The window's place in a program that is built without Qt (KVLAB_GUI=OFF). Its scripts are those of `kvlab bench`.
#include "app/cli/window_part.h"

#include <iostream>

#include "app/cli/bench.h"
#include "app/cli/programs.h"
#include "app/plain/resources.h"
#include "app/plain/scratch_folder.h"
#include "app/windowless/script_runner.h"

namespace kvlab {
namespace {

Result<std::string> rowsOf(const CommandLine& line, const std::string& name) {
  const ScratchFolder scratch;  // for files that scripts write; nobody asked for them
  ScriptRunner runner({.manifest = line.manifest,
                       .args = {line.quick ? "quick" : "", line.manifest.value("model", "")},
                       .resources = resourceRoot(),
                       .out = scratch.path(),
                       .log = [](const std::string& text) { std::cerr << "kvlab: " << text << std::endl; }});
  const std::string folder = resourceRoot() + "/bench/";
  for (const std::string& script : {folder + "parts/rig.js", folder + name + ".js"}) KV_TRY(runner.runFile(script));
  return runner.runText("return bench.rows", "bench");
}

Ending runWithout(const CommandLine& line, int, char**) {
  if (line.verb != "bench")
    return Error("unsupported", "kvlab " + line.verb, "this program was built without Qt",
                 "use the program with a window, and kvlab --help for what this one does");
  KV_TRY(checkResources());
  return runBenches(line, [&](const std::string& name) { return rowsOf(line, name); });
}

}  // namespace

const WindowPart& windowPart() {
  static const WindowPart kNone{{}, [] { return false; }, {"run", "test", "gui"}, runWithout};
  return kNone;
}

}  // namespace kvlab
