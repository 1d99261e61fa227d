// SPDX-License-Identifier: GPL-3.0-or-later
// The parsed command line. Values; made once by main.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

/// Process exit codes; `kvlab compare` has a meaning of its own for 1 and 2.
enum class Exit : int {
  Ok = 0,           // done; compare: equal
  Failed = 1,       // a failed test, expectation, cell of a whole sweep; stopped by hand; compare: explained
  Usage = 2,        // the command line, or results that are there already
  Unexplained = 2,  // compare
  Refused = 3,      // a specification, prompts, shards, model, file or back end
  Again = 75,       // SIGTERM or SIGUSR1 stopped a sweep: start it again with --resume (EX_TEMPFAIL of sysexits.h)
};

/// The options of `kvlab sweep` beside --out, --jobs and --resume.
struct SweepWords {
  std::string shard;               // --shard I/N
  std::vector<std::string> merge;  // --merge DIR..
  std::string status;              // --status DIR
  std::string cell;                // --cell CELL[:QUESTION]
  bool slurm = false;              // --slurm
  std::string partition, time;     // --partition, --time
  int array = 0;                   // --array, 0 = a shard per group
  bool dryRun = false;             // --dry-run
  std::string policyModule;        // --policy-module, for the jobs
};

struct CommandLine {
  std::string verb = "gui";  // gui run test bench sweep train perplexity clinic check compare model replay info list ..
  nlohmann::json manifest = nlohmann::json::object();  // from --manifest and the session options
  std::string file;                                    // script, tests, capture, sweep, text, model's name
  std::string out;                                     // --out
  std::vector<std::string> args;                       // after --
  std::vector<std::string> names;                      // bench, check: which
  bool quick = false;                                  // bench --quick
  std::string list;                                    // list: what
  bool reveal = false;                                 // clinic --reveal
  std::optional<long long> blind;                      // clinic --blind SEED
  bool markdown = false;                               // list --markdown
  bool resume = false;                                 // sweep and train --resume
  int jobs = 0;                                        // sweep --jobs, 0 = all cores
  SweepWords sweep;
  std::string train;                                   // train: gates, gists or lens
  std::string model;                                   // model: get, list or remove
  std::string work;                                    // train --work
  std::string python;                                  // train --python, model get --python
  bool recordOnly = false;                             // train --record-only
  int window = 0;                                      // train --window, 0 = the default
  long long rows = 0;                                  // train --rows, perplexity --tokens; 0 = the default
  int context = 0, stride = 0;                         // perplexity, 0 = the defaults
  bool verify = false;                                 // replay --verify
  std::string ids, importer, mapping, baseline, html;  // compare
  int sequence = -1;                                   // compare --sequence; -1 = the only one
  long long to = -1;                                   // replay --to
  double limit = 0;                                    // run, test --time-limit; 0 = none, or the default
  bool update = false;                                 // run, test --update
  std::string junit;                                   // test --junit
  std::string filter;                                  // test --filter
  bool frozenClock = false;                            // run --frozen-clock
  std::string logLevel = "warning";
  std::optional<std::string> json;  // --json FILE of every subcommand but gui; empty = standard output
  std::string text;                 // help and version: what to print

  /// Standard output is for one JSON value alone.
  bool printsJson() const { return json && json->empty(); }
};

/// Error codes: usage (exit 2), or unreadable_file and bad_manifest of --manifest FILE (exit 3).
Result<CommandLine> parseCommandLine(const std::vector<std::string>& arguments);
/// CommandLine::json of a command line that was refused; standard output where --json stands in a place that has none.
std::optional<std::string> jsonAsked(const std::vector<std::string>& arguments);
/// "kvlab: error: <what>: <why>; <what to do>"
std::string errorLine(const Error& error);
Exit exitFor(const Error& error);

/// "h2o:budget=64,sink=4" -> {"name":"h2o","budget":64,"sink":4}. Error: usage.
Result<nlohmann::json> parseNamed(const std::string& text, const std::string& option);
/// Sets a manifest key from "sampling.top_k=40". The value is JSON if it parses as JSON, else text.
Status setKey(nlohmann::json& manifest, const std::string& assignment);

}  // namespace kvlab
