// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab: parses the command line and runs the subcommand.
#include <iostream>
#include <map>

#include "app/cli/programs.h"
#include "app/cli/window_part.h"

namespace {

using namespace kvlab;

/// Runs a subcommand that needs no window.
Ending runPlain(const CommandLine& line) {
  using Program = Ending (*)(const CommandLine&);
  static const std::map<std::string, Program> kPrograms = {
      {"info", printInfo},           {"replay", printReplay},      {"train", runTrain},
      {"perplexity", runPerplexity}, {"clinic", runClinicCommand}, {"check", runCheck},
      {"compare", runCompare},       {"model", runModel},          {"sweep", runSweepCommand}};
  if (line.verb == "list") return printList(line);
  const auto found = kPrograms.find(line.verb);
  if (found == kPrograms.end())
    return Error("usage", line.verb, "not available in this version", "see kvlab --help for what is");
  KV_TRY(checkResources());
  return found->second(line);
}

Ending run(const CommandLine& line, int argc, char** argv) {
  const KeptOutput kept(line.printsJson());
  const bool capture = line.verb == "replay" && !line.verify && !line.json && windowPart().watched();
  return capture || isOfWindowPart(line.verb) ? windowPart().run(line, argc, argv) : runPlain(line);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto line = parseCommandLine(arguments);
  if (!line) return finish(line.error(), jsonAsked(arguments));
  if (line->verb == "help") return std::cout << line->text, finish({}, {});
  if (line->verb == "version") return std::cout << "kvlab " KVLAB_VERSION "\n", finish({}, {});
  return finish(run(*line, argc, argv), line->json);
}
