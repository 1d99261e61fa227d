// SPDX-License-Identifier: Apache-2.0
// The results of a sweep, one row per cell: the schema of results.jsonl (a JSON object per line) and of results.csv
// (a column per field), and the sums over seeds. Values and pure functions; any thread.
//
// A line of results.jsonl: {"schema": 1, "index": place in cell order from 0, "id": hash of the cell's complete
// content, "prompts", "task" and "length" of generated prompts, "ask", "seed", "axes": {name: label}, "budget":
// {"ratio": r} or {"tokens": n}, the measures of sweepMeasures() that were asked for, "expressions": {text: mean, null
// = known at no position}, "by_story": [[right, asked], ..], "by_score": [[sum of scores, answers], ..] of stories,
// "by_distance": [[at most so many tokens, right, asked], ..]}. A cell that failed has "error": {code, what, why,
// remedy} in place of measures.
//
// A line of answers.jsonl is a generated answer: {"index" and "id" of its cell, "prompts", "seed", "axes", "budget",
// "story", "question": places in the prompt set, "depth", "wanted": [texts], "text", "ids": tokens, "score", "part",
// "nll": mean over the tokens of the wanted answer, "kept": [share of the needles' rows in each cache layer]}.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/error.h"
#include "core/api/table_answer.h"

namespace kvlab {

/// Grows when a measure changes its meaning; part of every cell's id.
inline constexpr int kSweepSchema = 1;

struct SweepMeasure {
  std::string_view name;   // field and column
  std::string_view group;  // recall | kl | attention | needles | bytes | answers: values of a specification's `measure`
  std::string_view title;  // for people
  std::string_view unit;   // "share", "nats", "bytes", "rows", "count"
};

/// In column order.
std::span<const SweepMeasure> sweepMeasures();
/// The groups of the measures, each once and in their order.
std::vector<std::string> sweepGroups();
/// Place in sweepMeasures(), -1 = none of that name.
int sweepMeasure(std::string_view name);

struct SweepBudget {
  bool ratio = true;  // else tokens
  double value = 1;
  bool operator==(const SweepBudget&) const = default;
};

struct SweepAnswer {
  int story = 0, question = 0;  // places in the prompt set
  std::optional<double> depth = {};
  std::vector<std::string> wanted = {};
  std::string text = {};
  std::vector<std::int32_t> ids = {};
  double score = 0, part = 0;  // shares of the wanted texts (core/tasks/string_match.h)
  std::optional<double> nll = {};
  std::vector<double> kept = {};  // [cache layers] empty = it is not known where the needles lie
};

struct SweepRow {
  std::int64_t index = 0;
  std::string id = {}, prompts = {}, ask = {};
  std::int64_t seed = 0;
  std::vector<std::pair<std::string, std::string>> axes = {};  // name, label
  std::optional<SweepBudget> budget = {};
  std::vector<std::optional<double>> measures = {};                             // [sweepMeasures()]
  std::vector<std::pair<std::string, std::optional<double>>> expressions = {};  // text, mean
  std::vector<std::pair<int, int>> byStory = {};                                // right, asked
  std::vector<std::array<int, 3>> byDistance = {};                              // up to, right, asked
  std::optional<Error> error = {};
  std::string task = {};                             // of generated prompts
  int length = 0;                                    // of them, tokens
  std::vector<std::pair<double, int>> byScore = {};  // [stories] sum of scores, answers
  std::vector<SweepAnswer> answers = {};             // stand in answers.jsonl and in no line of results.jsonl

  std::optional<double> measure(std::string_view name) const;
  void setMeasure(std::string_view name, double value);
  /// Mean of an expression; none = not asked, or known at no position.
  std::optional<double> expression(const std::string& text) const;
  /// Labels of the axes that are no budget, " / " between them.
  std::string series() const;
};

/// The expressions of all rows, in their order.
std::vector<std::string> sweepExpressions(std::span<const SweepRow> rows);

/// Lines of answers.jsonl, each with its end.
std::string answerLines(const SweepRow& row);
/// The answers of a row, as a journal keeps them.
nlohmann::ordered_json answersJson(const SweepRow& row);
/// Error (bad_results) for anything but what answersJson() makes; null = none.
Result<std::vector<SweepAnswer>> sweepAnswers(const nlohmann::ordered_json& json, const std::string& place);

/// One line of results.jsonl, without the line's end.
std::string sweepLine(const SweepRow& row);
/// Error (bad_results) for anything but a row of this schema; `place` names it in the error.
Result<SweepRow> sweepRow(const nlohmann::ordered_json& json, const std::string& place);
/// The rows of results.jsonl, or those that the journal of an unfinished sweep holds. Errors: bad_results.
Result<std::vector<SweepRow>> sweepRows(std::string_view text, const std::string& file);
/// The rows as columns, the names of axes and expressions behind "axis." and "expression.". A cell is null where it
/// does not apply.
std::vector<TableColumn> sweepColumns(std::span<const SweepRow> rows);
/// results.csv: a head and a line per row (RFC 4180); a field that does not apply is empty.
std::string sweepCsv(std::span<const SweepRow> rows);

/// All cells that differ in nothing but their seed.
struct SweepPoint {
  std::string prompts = {}, ask = {}, series = {};
  std::optional<SweepBudget> budget = {};
  std::string task = {};  // of generated prompts, and their length
  int length = 0, answers = 0;
  double score = 0, scoreLow = 0, scoreHigh = 0;  // mean over answers, and 95 %: meanInterval()
  int cells = 0, failed = 0, stories = 0, asked = 0, right = 0;
  double recall = 0, low = 0, high = 0;  // 95 %: meanInterval()
  std::optional<double> kl = {}, klAnswer = {}, bytes = {},
                        share = {};  // means over cells; share = bytes of the reference's bytes

  struct Shown {
    double value = 0, low = 0, high = 0;
  };
  /// What plots show: the score where answers were generated, else recall; none where nothing was asked.
  std::optional<Shown> shown() const;
};

/// Points stand in the order of their first cells.
std::vector<SweepPoint> sweepPoints(std::span<const SweepRow> rows);
/// The points as columns: prompts, ask, series, budget, cells, failed, stories, asked, right, recall and its interval,
/// kl, kl_answer, bytes, share; where answers were generated also task, length, answers, score and its interval.
std::vector<TableColumn> summaryColumns(std::span<const SweepPoint> points);
/// summary.csv, a line per point (RFC 4180).
std::string summaryCsv(std::span<const SweepPoint> points);

/// 95 % interval of a mean over stories, each given as (sum, count). Where every story has one question whose score is
/// 0 or 1 the mean is a proportion, and the interval is Wilson's, because resamples of equal scores have no spread.
/// Else 2 000 resamples of whole stories with replacement, because questions about one story are not independent,
/// percentiles 2.5 and 97.5 (Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 13). The random
/// numbers have a fixed start, so equal stories give equal figures. No story: 0 to 1.
std::pair<double, double> meanInterval(std::span<const std::pair<double, int>> stories);
/// Wilson's score interval of right out of asked, 95 %: (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2
/// / n) with z = 1.96 (Wilson 1927, Journal of the American Statistical Association 22, page 209). None asked: 0 to 1.
std::pair<double, double> wilson(int right, int asked);

// The Pareto plot of a sweep as SVG: recall against budget with 95 % intervals, and KL against bytes, each where it
// was measured, one line per series. Numbers and points only, no script; equal points give equal bytes. Pure function;
// any thread.

/// A row of panels per prompt set.
std::string paretoSvg(const std::string& title, std::span<const SweepPoint> points);
/// One HTML file without scripts and without other files: scores by task, policy and budget; by depth and length; rows
/// of the needle beside right and wrong answers; the Pareto plot; each cell with the command that opens it. Equal rows
/// give equal bytes. Pure function; any thread.
std::string sweepHtml(const std::string& title, std::span<const SweepRow> rows, std::span<const SweepPoint> points);

// The request for a sweep, its reports on the way, and its results.

struct SweepProgress {
  std::int64_t done = 0, total = 0, failed = 0;  // cells
  double seconds = 0;                            // since this run began
  double left = -1;               // estimated seconds to the end, from the cells of this run; -1 = not known yet
  const SweepRow* row = nullptr;  // the cell that was finished; null at the start
};

/// A part of a sweep for a process of its own: the groups of cells (one prompt set and seed, which share a reference
/// run) whose place modulo `count` is index - 1.
struct SweepShard {
  int index = 1, count = 1;  // 1 <= index <= count; 1 of 1 = the whole sweep
  bool operator==(const SweepShard&) const = default;
  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

struct SweepOptions {
  std::string out;        // folder; made where it is missing
  std::string folder;     // folder of the specification; its file names are relative to it
  std::string resources;  // the program's resources
  nlohmann::json base;    // changes of the specification's base; null = none
  bool resume = false;    // go on in a folder that has a journal; start where there is none
  int jobs = 0;           // worker threads, 0 = all cores
  SweepShard shard = {};  // the part to run; of a part the folder has the journal alone, and mergeSweeps() the results
  std::function<bool(const SweepProgress&)> progress =
      {};                              // one call at a time, on a worker; false stops, cells in work are dropped
  std::function<bool()> stopped = {};  // any worker asks it in the middle of a cell; true stops in the same way
};

struct SweepOutcome {
  std::vector<SweepRow> rows;  // in cell order; those of the shard
  std::int64_t found = 0;      // cells that the journal had already
  std::int64_t failed = 0;     // rows with an error
};

/// A sweep as the window shows it: an opened file, or a running sweep.
struct SweepShown {
  std::string name, place;     // title; the file or folder
  std::vector<SweepRow> rows;  // that are done, in cell order
  std::int64_t total = 0;      // cells, done or not
  bool running = false;
  double left = -1;  // estimated seconds, -1 = not known
};
using SweepShownPtr = std::shared_ptr<const SweepShown>;

}  // namespace kvlab
