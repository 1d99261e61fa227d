// SPDX-License-Identifier: Apache-2.0
// A cell of a finished sweep, opened as a session at the moment of an answer: the session has read the story, has been
// fed the question, and has given its answer, which is compared with the reported one. The session has a history, so
// people go back to the moments before; a capture keeps it. Any thread.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/api/progress.h"
#include "core/api/sweep_table.h"
#include "core/session/session.h"

namespace kvlab {

struct SweepPlace {
  std::string folder;     // has the journal of a sweep, or of a shard
  std::int64_t cell = 0;  // index in the results
  int question = 0;       // of the cell's questions, in the order of its stories and answers
};
/// "17:2", or "17" for the first question. Error: bad_argument.
Result<SweepPlace> sweepPlace(const std::string& folder, const std::string& text);

struct SweepMoment {
  std::unique_ptr<Session> session;
  SweepRow row;                                // of the journal, with its answers
  std::optional<SweepAnswer> reported, found;  // none: the cell's answers are not generated ones
  bool same() const {
    return !reported ||
        (reported->ids == found->ids && reported->text == found->text && reported->score == found->score &&
         reported->part == found->part);
  }
};

/// Prompt files with relative names are looked for in the current folder. Errors: bad_file, bad_journal, bad_results;
/// bad_argument, there is no such cell or question; missing_cells, the cell is not done, or failed; sweep_changed, the
/// model, the prompts or the arithmetic are not those of then; unsupported, the policy was told the attention of the
/// reference run; those of sessions; cancelled.
Result<SweepMoment> openSweepCell(const SweepPlace& place, const std::string& resources, const Progress& progress = {});

}  // namespace kvlab
