// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab sweep FOLDER --cell: a question of a cell is asked again, and the answer compared with the reported one.
#include <iostream>

#include "app/cli/programs.h"
#include "app/plain/resources.h"
#include "core/experiment/sweep_moment.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

json heardAnswer(const std::optional<SweepAnswer>& answer) {
  if (!answer) return nullptr;
  return {{"text", answer->text}, {"ids", answer->ids}, {"score", answer->score}, {"part", answer->part}};
}

std::string briefJson(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

void printMoment(const SweepMoment& moment, const SweepPlace& place) {
  std::cout << "cell " << place.cell << ", question " << place.question << ": " << moment.row.prompts << ", "
            << moment.row.series() << ", seed " << moment.row.seed << "\n";
  if (!moment.reported) {
    std::cout << "the cell has no generated answers; the session was fed the right one\n";
    return;
  }
  std::cout << "wanted    " << briefJson(moment.reported->wanted) << "\n";
  for (const auto& [title, answer] : {std::pair{"reported  ", &moment.reported}, {"now       ", &moment.found}})
    std::cout << title << briefJson((*answer)->text) << ", score " << briefJson((*answer)->score) << "\n";
}

}  // namespace

Ending openCellCommand(const CommandLine& line) {
  const SweepPlace place = KV_TRY(sweepPlace(line.file, line.sweep.cell));
  watchInterrupts();
  const Progress goesOn = [](const std::string&, std::int64_t, std::int64_t) { return !interrupted(); };
  SweepMoment moment = KV_TRY(openSweepCell(place, resourceRoot(), goesOn));
  printMoment(moment, place);
  if (!line.out.empty()) KV_TRY(execute(*moment.session, "saveCapture", {{"path", line.out}}));
  json value{{"cell", place.cell},
             {"question", place.question},
             {"reported", heardAnswer(moment.reported)},
             {"now", heardAnswer(moment.found)},
             {"tokens", moment.session->state().length()}};
  if (moment.same()) return value;
  const Error error("not_replayed", "the answer differs", "it is not what the sweep reported",
                    "look at the version of the program; the same one gives the same answer");
  return {std::move(value), Exit::Failed, error};
}

}  // namespace kvlab
