// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab clinic: plants the bugs of the clinic one after another and names the checks that find them. Exit codes: 0 =
// every bug was caught, 1 = one was missed, 2 = command line, 3 = a file or a step refused.
#include <algorithm>
#include <cstdio>

#include "app/cli/programs.h"
#include "app/plain/resources.h"
#include "app/plain/scratch_folder.h"
#include "app/plain/script_lines.h"
#include "core/clinic/clinic_run.h"
#include "core/verbs/verbs.h"

namespace kvlab {

namespace {

using nlohmann::json;

template <class Id>
std::string numberOrDash(const std::optional<Id>& id) {
  return id ? std::to_string(id->value()) : "-";
}

json findingJson(const Finding& finding) {
  json out{{"check", finding.violation.invariant}, {"says", finding.violation.detail}, {"event", finding.blame}};
  if (finding.violation.layer) out["layer"] = finding.violation.layer->value();
  if (finding.violation.ledger) out["row"] = finding.violation.ledger->value();
  return out;
}

/// The script with the files of its steps in the present folder.
json scriptLines(const ClinicCase& one, std::optional<std::int64_t> blind = {}) {
  json out = json::array();
  for (const std::string& line : clinicScript(one, verbs(), blind)) out.push_back(line);
  return out;
}

json toJson(const ClinicCase& one, const ClinicResult& result) {
  json out{{"bug", one.bug},         {"title", one.title},           {"story", one.story},
           {"threads", one.threads}, {"script", scriptLines(one)},   {"view", one.view},
           {"look", one.look},       {"caught", result.caught(one)}, {"ticks", result.ticks},
           {"found", nullptr},       {"others", json::array()},      {"without", json::array()}};
  if (result.finding) out["found"] = findingJson(*result.finding);
  for (const Finding& other : result.findings)
    if (other.violation.invariant != one.found.check) out["others"].push_back(findingJson(other));
  for (const Finding& finding : result.healthy) out["without"].push_back(findingJson(finding));
  out["cheap"] = nullptr;
  if (result.cheapTicks) out["cheap"] = {{"check", result.cheapCheck}, {"ticks", *result.cheapTicks}};
  return out;
}

void printLine(const ClinicCase& one, const ClinicResult& result) {
  const Violation none;
  const Violation& found = result.finding ? result.finding->violation : none;
  const std::string cheap = result.cheapTicks ? std::to_string(*result.cheapTicks) + " " + result.cheapCheck : "-";
  std::printf("%-24s %-7s %-18s %5s %5s %5lld  %s\n", one.bug.c_str(), result.caught(one) ? "caught" : "MISSED",
              one.found.check.c_str(), numberOrDash(found.layer).c_str(), numberOrDash(found.ledger).c_str(),
              static_cast<long long>(result.ticks), cheap.c_str());
}

void printCase(const ClinicCase& one, const ClinicResult& result) {
  std::printf("%s: %s\n\n%s\n\nWhere people met it:", one.bug.c_str(), one.title.c_str(), one.story.c_str());
  for (std::size_t i = 0; i < one.threads.size(); ++i) std::printf("%s %s", i ? "," : "", one.threads[i].c_str());
  std::printf("\n\nScript:\n");
  for (const std::string& text : clinicScript(one, verbs())) std::printf("  %s\n", text.c_str());
  std::printf("\n");
  if (result.finding) {
    std::printf("%s found it: %s\n", one.found.check.c_str(), result.finding->violation.detail.c_str());
    std::printf("Event: %s\n", result.finding->blame.c_str());
  } else {
    std::printf("%s did not find it\n", one.found.check.c_str());
  }
  std::printf("Look at the view %s: %s\n", one.view.c_str(), one.look.c_str());
}

void printBlind(const ClinicCase& one, long long seed, bool reveal) {
  if (reveal) {
    std::printf("%s: %s\n%s finds it. Look at the view %s: %s\n", one.bug.c_str(), one.title.c_str(),
                one.found.check.c_str(), one.view.c_str(), one.look.c_str());
    return;
  }
  for (const std::string& text : clinicScript(one, verbs(), seed)) std::printf("%s\n", text.c_str());
  std::printf("// kvlab clinic --blind %lld --reveal says which bug it is.\n", seed);
}

/// The bug that a seed draws, without its name or with it.
json blindCase(const std::vector<ClinicCase>& all, const CommandLine& line) {
  const ClinicCase& one = *std::ranges::find(all, drawnBug(*line.blind), &ClinicCase::bug);
  if (!line.printsJson()) printBlind(one, *line.blind, line.reveal);
  json out{{"seed", *line.blind}, {"script", scriptLines(one, *line.blind)}};
  if (line.reveal)
    out.update(
        {{"bug", one.bug}, {"title", one.title}, {"check", one.found.check}, {"view", one.view}, {"look", one.look}});
  return out;
}

}  // namespace

Ending runClinicCommand(const CommandLine& line) {
  const std::string resources = resourceRoot();
  const std::vector<ClinicCase> all = KV_TRY(readClinic(resources));
  if (line.blind && *line.blind < 0)
    return Error("usage", "kvlab clinic --blind " + std::to_string(*line.blind), "a seed is not negative",
                 "give a number from 0 on");
  if (line.blind) return blindCase(all, line);
  bool known = line.file.empty(), missed = false;
  json out = json::array();
  if (!line.printsJson() && line.file.empty())
    std::printf("%-24s %-7s %-18s %5s %5s %5s  %s\n", "bug", "", "found by", "layer", "row", "ticks",
                "cheap: ticks, check");
  for (const ClinicCase& one : all) {
    if (!line.file.empty() && line.file != one.bug) continue;
    known = true;
    const ScratchFolder folder;
    const ClinicResult result = KV_TRY(runClinic(one, resources, folder.path()));
    missed = missed || !result.caught(one);
    out.push_back(toJson(one, result));
    if (line.printsJson()) continue;
    if (line.file.empty()) printLine(one, result);
    else printCase(one, result);
  }
  if (!known)
    return Error("usage", "kvlab clinic " + line.file, "the clinic has no such bug", "kvlab clinic lists all of them");
  return {out, missed ? Exit::Failed : Exit::Ok};
}

}  // namespace kvlab
