// SPDX-License-Identifier: Apache-2.0
// What a sweep, or a shard of it, runs: its cells, the model, the prompts of each group of cells, and the ids that tell
// whether a cell was run before. Runs single cells. Once open() has returned, any number of threads may use it.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "core/experiment/prompt_reads.h"
#include "core/experiment/sweep_cell.h"
#include "core/experiment/sweep_spec.h"

namespace kvlab {

/// The stories of one prompt set and seed, and the reference's run over them, made by the first who asks.
struct SweepStories {
  std::vector<SweepStory> stories;
  std::string hash;
  std::mutex making;
  std::optional<Result<std::vector<StoryTrace>>> reference;
  std::unique_ptr<PromptReads> reads;
  std::atomic<std::int64_t> waiting{0};  // cells that still need the reference
};

/// What a cell reads, and the id that its results have.
struct SweepCellInput {
  SweepCell cell;
  std::vector<SweepStory> stories;
  std::string id;
};

class SweepSetup {
 public:
  /// Both must outlive the setup.
  SweepSetup(const SweepSpec& spec, const SweepOptions& options) : m_spec(spec), m_options(options) {}

  /// Opens the model and reads the prompts. Errors: bad_sweep, bad_shard, bad_prompts, bad_file, those of sessions.
  Status open();
  /// Without open(), and for one cell: what it reads, and its id. Errors as above; bad_argument, there is no such cell.
  Result<SweepCellInput> input(std::int64_t index);

  const SweepSpec& spec() const { return m_spec; }
  const std::vector<SweepCell>& cells() const { return m_cells; }  // of the whole sweep
  bool isOurs(const SweepCell& cell) const;                        // of the shard
  std::int64_t total() const { return m_total; }                   // cells of the shard
  /// The number of threads for so many cells.
  std::int64_t workers(std::int64_t cells) const;
  const Session& host() const { return *m_host; }
  /// No expression counts ticks, so that cells may share the reading of a prompt.
  bool sharesReads() const { return m_expressions.empty(); }
  /// The reference is fed what follows its prompts.
  bool feedsReference() const;

  using Group = std::pair<std::size_t, std::int64_t>;  // prompt set and seed: cells that share references and reads
  static Group groupOf(const SweepCell& cell) { return {cell.prompts, cell.seed}; }
  SweepStories& storiesOf(const SweepCell& cell) const { return *m_stories.at(groupOf(cell)); }

  /// Everything that decides a cell's figures, as a hash.
  std::string idOf(const SweepCell& cell) const;
  /// The first line of the journal, for cells with these ids.
  nlohmann::ordered_json head(const std::vector<std::string>& ids) const;
  const std::string& questions() const { return m_questions; }  // generated samples, the lines of questions.jsonl

  /// Runs a cell on its stories, or on others; the first who comes runs the reference. An error (code cancelled) means
  /// that goesOn said no; an error of the cell stands in its row. runner: makes its passes, or null.
  Result<SweepRow> run(const SweepCell& cell, const std::string& id, SweepStories& stories, const Progress& goesOn,
                       PassRunner* runner = nullptr) const;
  /// The error of the reference, if it has one.
  Status runReference(const SweepCell& cell, SweepStories& stories, const Progress& goesOn) const;

 private:
  Status expand();
  Status openModel();
  Status readPrompts();
  std::string pathOf(const std::string& file) const;
  Result<nlohmann::json> setOf(const SweepPrompts& prompts) const;
  Status readStoriesOf(std::size_t prompts, std::int64_t seed, const nlohmann::json& set);
  Result<nlohmann::json> writtenPrompts(const SweepPrompts& prompts, std::int64_t seed);
  nlohmann::json addedRules() const;
  CellWork workOf(const SweepCell& cell, const SweepStories& stories, const Progress& goesOn, PassRunner* runner) const;
  const Result<std::vector<StoryTrace>>& referenceFor(const SweepCell& cell, SweepStories& stories,
                                                      const Progress& goesOn) const;

  const SweepSpec& m_spec;
  const SweepOptions& m_options;
  std::vector<SweepCell> m_cells;
  std::vector<Expression> m_expressions;
  std::int64_t m_total = 0;
  bool m_tellsFuture = false;  // a cell's policy is told the attention of the reference
  std::unique_ptr<Session> m_host;
  std::string m_model, m_numerics, m_questions;
  std::map<Group, std::unique_ptr<SweepStories>> m_stories;
};

}  // namespace kvlab
