// SPDX-License-Identifier: GPL-3.0-or-later
// Subcommands that print: kvlab list, info, and replay without a window, one line per command.
#include <cstdio>
#include <iostream>

#include "app/cli/lists.h"
#include "app/cli/programs.h"
#include "app/plain/core_replay.h"
#include "app/plain/resources.h"
#include "core/lists/info.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string textOrDash(const json& value) { return value.is_string() ? value.get<std::string>() : "-"; }

/// The result of a command: replayed, same state, another state, or failed.
std::string verdict(const json& step, bool verify) {
  if (step.contains("error")) return "failed";
  if (!verify) return "done";
  if (step["expected"].is_null()) return "no hash";
  return step["ok"].get<bool>() ? "same" : "DIFFERS";
}

void printStep(const json& step, bool verify) {
  std::printf("%8lld  %-14s %-8s", step["tick"].get<long long>(), textOrDash(step["verb"]).c_str(),
              verdict(step, verify).c_str());
  if (verify) std::printf("  %-32s  %s", textOrDash(step["expected"]).c_str(), textOrDash(step["got"]).c_str());
  std::printf("\n");
}

void printSteps(const json& steps, bool verify) {
  std::printf("%8s  %-14s %-8s%s\n", "tick", "command", "result",
              verify ? "  recorded state                    state now" : "");
  for (const json& step : steps) printStep(step, verify);
}

}  // namespace

Ending printList(const CommandLine& line) {
  const NamedList& list = *listNamed(line.list);
  json rows = list.rows();
  if (!line.printsJson()) std::cout << (line.markdown ? markdownTable(list, rows) : textTable(list, rows));
  return rows;
}

Ending printInfo(const CommandLine& line) {
  json info = KV_TRY(modelAndBackends(line.manifest, resourceRoot()));
  if (!line.printsJson()) std::cout << infoText(info);
  return info;
}

Ending printReplay(const CommandLine& line) {
  const std::optional<std::int64_t> to = line.to >= 0 ? std::optional<std::int64_t>(line.to) : std::nullopt;
  json table = KV_TRY(replayTable(line.file, resourceRoot(), to, line.verify));
  const json& steps = table["steps"];
  if (!line.printsJson()) printSteps(steps, line.verify);
  if (const std::string note = textOrDash(table["note"]); !note.empty())
    std::cerr << "kvlab: " << line.file << ": " << note << std::endl;
  if (table["ok"] == true) return table;
  if (!steps.back().contains("error")) return {table, Exit::Failed};
  const Error error = Error::fromJson(steps.back()["error"]);
  return {std::move(table), Exit::Failed, error};
}

}  // namespace kvlab
