// SPDX-License-Identifier: Apache-2.0
// Runs a sweep into a folder:
//
//   journal.jsonl                    the cells done so far (sweep_journal.h); stays
//   questions.jsonl                  samples with answers that are asked, as core/tasks/task_samples.h has them
//   answers.jsonl, report.html       generated answers and a report on them, once all cells are done
//   results.jsonl, results.csv       one line per cell in cell order (core/api/sweep_table.h), once all are done
//   summary.csv, pareto.svg          over seeds, once all are done
//   timings.jsonl                    seconds of each cell: nothing else differs between two runs of a specification
//
// A shard writes its journal alone; sweep_shards.h merges the journals of all shards into these files.
//
// A cell's figures depend on its content alone, so the number of jobs, kills and resumes leave no trace in the
// results. runSweep() may be called on any thread; its workers live until it returns.
#pragma once
#include "core/api/sweep_table.h"
#include "core/experiment/sweep_setup.h"

namespace kvlab {

/// Errors: bad_sweep, bad_shard, bad_prompts; sweep_exists, sweep_busy, bad_journal; sweep_changed (names the
/// difference) where the folder holds another sweep; bad_file; cancelled (finished cells stay finished); errors of the
/// model. A cell that fails is a row with its error and no error here.
Result<SweepOutcome> runSweep(const SweepSpec& spec, const SweepOptions& options);

/// Runs a specification, that of a file, or one of the resources' sweeps by its name. An empty `out` becomes
/// NAME.sweep, `folder` becomes that of the file; both are stored in `options`.
Result<SweepOutcome> runSweep(const nlohmann::json& given, SweepOptions& options);

/// Opens the model and its prompts. Errors: those of runSweep() before its first cell; bad_argument, there is no such
/// cell.
Result<SweepCellInput> sweepCellInput(const SweepSpec& spec, const SweepOptions& options, std::int64_t index);

/// The specification that a request names, as runSweep() takes it; fills `out` and `folder` of the options.
Result<SweepSpec> namedSweep(const nlohmann::json& given, SweepOptions& options);

/// Reads and checks a specification file, with changes of its base or null. Errors: bad_sweep.
Result<SweepSpec> readSweepSpec(const std::string& path, const nlohmann::json& base = {});

}  // namespace kvlab
