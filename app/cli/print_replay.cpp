// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab replay without a window: prints one line per command.
#include <cstdio>
#include <iostream>

#include "app/base/resources.h"
#include "app/cli/programs.h"
#include "app/engine/core_replay.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : "-"; }

/// The result of a command: replayed, same state, another state, or failed.
std::string verdict(const json& step, bool verify) {
  if (step.contains("error")) return "failed";
  if (!verify) return "done";
  if (step["expected"].is_null()) return "no hash";
  return step["ok"].get<bool>() ? "same" : "DIFFERS";
}

void printStep(const json& step, bool verify) {
  std::printf("%8lld  %-14s %-8s", step["tick"].get<long long>(), text(step["verb"]).c_str(),
              verdict(step, verify).c_str());
  if (verify) std::printf("  %-32s  %s", text(step["expected"]).c_str(), text(step["got"]).c_str());
  std::printf("\n");
}

}  // namespace

Exit printReplay(const CommandLine& line) {
  const std::optional<std::int64_t> to = line.to >= 0 ? std::optional<std::int64_t>(line.to) : std::nullopt;
  const auto table = replayTable(line.file, resourceRoot().toStdString(), to, line.verify);
  if (!table) return refuse(table.error());
  std::printf("%8s  %-14s %-8s%s\n", "tick", "command", "result",
              line.verify ? "  recorded state                    state now" : "");
  for (const json& step : (*table)["steps"]) printStep(step, line.verify);
  if (const std::string note = text((*table)["note"]); !note.empty())
    std::cerr << "kvlab: " << line.file << ": " << note << std::endl;
  for (const json& step : (*table)["steps"])
    if (step.contains("error")) std::cerr << errorLine(Error::fromJson(step["error"])) << std::endl;
  return (*table)["ok"].get<bool>() ? Exit::Ok : Exit::Failed;
}

}  // namespace kvlab
