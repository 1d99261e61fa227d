// SPDX-License-Identifier: Apache-2.0
// planted_driver --faults LIST --sessions FOLDER [--only NAME] [--levels full,cheap]: plays each session as it is, and
// then once for each planted fault that the session reaches, in a process of its own, and writes a line of JSON for
// each: the first difference, and the findings of the checks. See tests/planted/README.md.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/api/planted.h"
#include "planted/driver/play.h"

using namespace kvlab;
using namespace kvlab::planted_faults;
using nlohmann::json;

namespace {

struct Options {
  std::string faults, sessions, only, levels = "full,cheap", work = "/tmp";
};

std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream in(list);
  for (std::string one; std::getline(in, one, ',');) out.push_back(one);
  return out;
}

/// The run without a fault. Ends the program where the checks find something in it, or where a step fails that should
/// not: a step that is meant to fail stands in no script.
std::vector<Look> healthy(const Script& script, const std::string& level, const std::string& work) {
  std::vector<Look> out;
  plantedFault = {.chosen = 0, .reached = {}};
  play(script, level, KVLAB_RESOURCES_DIR, work, [&](const Session& session, const std::string& error) {
    for (const Finding& one : session.health().alignment.findings()) {
      std::cerr << script.name << ", step " << out.size() << ": false alarm, " << one.violation.invariant << ": "
                << one.violation.detail << std::endl;
      std::exit(2);
    }
    if (!error.empty()) {
      std::cerr << script.name << ", step " << out.size() << ": " << error << std::endl;
      std::exit(2);
    }
    out.push_back(lookAt(session, error));
    return true;
  });
  return out;
}

/// A finding is right if it names a difference: the row in its layer, or its effect in the next layer or in the logits.
bool right(const Violation& said, const Differences& is) {
  const std::int32_t layer = said.layer ? said.layer->value() : -1, row = said.ledger ? said.ledger->value() : -1;
  if (layer >= 0 && row >= 0)
    return is.rows.contains({layer, row}) || is.rows.contains({layer + 1, row}) ||
        (is.parts.contains("logits") && std::ranges::none_of(is.rows, [&](auto one) { return one.first > layer; }));
  if (layer >= 0) return std::ranges::any_of(is.rows, [&](auto one) { return one.first == layer; });
  if (row >= 0 && is.ledger.contains(row)) return true;
  if (row >= 0 && std::ranges::any_of(is.rows, [&](auto one) { return one.second == row; })) return true;
  return is.parts.contains("logits") || (row < 0 && is.any());
}

json withFault(const Script& script, const std::string& level, int fault, const std::vector<Look>& healthy,
               const std::string& work) {
  json out{{"fault", fault}, {"session", script.name}, {"level", level}};
  Differences all;
  std::size_t step = 0, first = 0;
  plantedFault = {.chosen = fault, .reached = {}};
  play(script, level, KVLAB_RESOURCES_DIR, work, [&](const Session& session, const std::string& error) {
    if (step >= healthy.size()) return false;
    all.add(healthy[step], lookAt(session, error));
    if (all.any() && !out.contains("first")) {
      first = step;
      out["first"] = {{"step", step}, {"tick", healthy[step].tick}, {"parts", all.parts}, {"rows", json::array()}};
      for (const auto& [layer, row] : all.rows)
        if (out["first"]["rows"].size() < 6) out["first"]["rows"].push_back({layer, row});
      if (!error.empty()) out["first"]["error"] = error;
    }
    const std::vector<Finding>& found = session.health().alignment.findings();
    if (!found.empty()) {
      const auto best = std::ranges::find_if(found, [&](const Finding& f) { return right(f.violation, all); });
      const Violation& said = (best == found.end() ? found.front() : *best).violation;
      out["said"] = {{"invariant", said.invariant},          {"detail", said.detail},
                     {"tick", session.state().tick.value()}, {"step", step},
                     {"right", best != found.end()},         {"of", found.size()}};
      if (said.layer) out["said"]["layer"] = said.layer->value();
      if (said.ledger) out["said"]["row"] = said.ledger->value();
      out["late"] = static_cast<std::int64_t>(step) - static_cast<std::int64_t>(first);
      return false;
    }
    ++step;
    return true;
  });
  out["differs"] = all.parts;
  return out;
}

/// Runs `makes` in a process of its own and returns the result; a signal where it ended otherwise.
json apart(const std::function<json()>& makes) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(2);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const rlimit limit{60, 60};  // seconds of CPU
    setrlimit(RLIMIT_CPU, &limit);
    const std::string text = makes().dump(-1, ' ', false, json::error_handler_t::replace);
    if (write(ends[1], text.data(), text.size()) < 0) _exit(3);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {{"signal", WTERMSIG(status)}};
  const json made = json::parse(text, nullptr, false);
  return made.is_object() ? made : json{{"signal", -1}};
}

Options read(int count, char** words) {
  Options out;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    std::string* to = name == "--faults" ? &out.faults
        : name == "--sessions"           ? &out.sessions
        : name == "--only"               ? &out.only
        : name == "--levels"             ? &out.levels
        : name == "--work"               ? &out.work
                                         : nullptr;
    if (!to) std::exit(2);
    *to = words[i + 1];
  }
  return out;
}

}  // namespace

int main(int count, char** words) {
  const Options options = read(count, words);
  const std::vector<std::string> faults = parts(options.faults), only = parts(options.only);
  for (const Script& script : readScripts(options.sessions)) {
    if (!only.empty() && std::ranges::find(only, script.name) == only.end()) continue;
    for (const std::string& level : parts(options.levels)) {
      const std::vector<Look> looks = healthy(script, level, options.work);
      const auto reached = plantedFault.reached;
      std::cerr << script.name << ", " << level << ": " << looks.size() << " steps" << std::endl;
      for (const std::string& fault : faults) {
        const int number = std::stoi(fault);
        if (!reached[at(number)]) continue;
        json line = apart([&] { return withFault(script, level, number, looks, options.work); });
        line.update({{"fault", number}, {"session", script.name}, {"level", level}});
        std::cout << line.dump() << std::endl;
      }
    }
  }
  return 0;
}
