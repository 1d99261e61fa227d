// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/api/guarded.h"
#include "core/api/log.h"
#include "core/api/manifest_values.h"
#include "core/api/part_file.h"
#include "core/experiment/sweep_cell.h"
#include "core/experiment/sweep_estimate.h"
#include "core/experiment/sweep_files.h"
#include "core/experiment/sweep_groups.h"
#include "core/experiment/sweep_journal.h"
#include "core/files/fingerprint.h"
#include "core/model/files/strict_json.h"
#include "core/policy/policy.h"
#include "core/verbs/verbs.h"

namespace kvlab {

using nlohmann::json;
using Json = nlohmann::ordered_json;

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

constexpr std::size_t kMeasuredCells = 8;  // of a prompt set
constexpr double kMeasuredSeconds = 60;    // after which no other cell is measured

/// Tokens of the prompts, and tokens that each cell is fed behind them.
struct StoryTokens {
  std::int64_t read = 0, fed = 0;

  void add(const SweepStory& story, Ask ask) {
    for (const std::vector<TokenId>& prompt : promptsOf(story, ask)) read += std::ssize(prompt);
    for (const SweepQuestion& question : story.questions) {
      fed += std::max<std::int64_t>(1, std::ssize(question.reply)) - 1 + question.newTokens;
      if (ask == Ask::After) fed += std::ssize(question.tokens);
    }
  }
  StoryTokens& operator+=(const StoryTokens& other) {
    read += other.read;
    fed += other.fed;
    return *this;
  }
};

/// The stories of one prompt set and seed, and the reference's run over them, made by the first who asks.
struct Stories {
  std::vector<SweepStory> stories;
  std::string hash;
  std::mutex making;
  std::optional<Result<std::vector<StoryTrace>>> reference;
  std::unique_ptr<PromptReads> reads = std::make_unique<PromptReads>();
  std::atomic<std::int64_t> waiting{0};  // cells that still need the reference
};

/// A name that is no file means a sweep of the resources.
std::string specPath(const std::string& given, const std::string& resources) {
  if (std::filesystem::exists(given)) return given;
  const std::string shipped = resources + "/sweeps/" + given + ".json";
  return std::filesystem::exists(shipped) ? shipped : given;
}

class Sweep {
 public:
  Sweep(const SweepSpec& spec, const SweepOptions& options) : m_spec(spec), m_options(options) {}

  Result<SweepOutcome> run() {
    for (auto step : {&Sweep::expand, &Sweep::openModel, &Sweep::readPrompts, &Sweep::openJournal})
      KV_TRY((this->*step)());
    work();
    if (m_broken) return *m_broken;
    if (m_done < m_total)
      return Error("cancelled", "the sweep was stopped",
                   std::to_string(m_done) + " of " + std::to_string(m_total) + " cells are done",
                   "go on with --resume");
    return finish();
  }

  Result<SweepEstimate> estimate() {
    for (auto step : {&Sweep::expand, &Sweep::openModel, &Sweep::readPrompts}) KV_TRY((this->*step)());
    SweepEstimate out{.cells = m_total};
    for (std::size_t i = 0; i < m_spec.prompts.size(); ++i) KV_TRY(measure(i, out));
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const std::int64_t jobs = std::min<std::int64_t>(m_options.jobs > 0 ? m_options.jobs : cores, m_total);
    out.seconds /= static_cast<double>(std::max<std::int64_t>(1, jobs));
    return out;
  }

  Result<SweepCellInput> input(std::int64_t index) {
    m_cells = KV_TRY(sweepCells(m_spec));
    if (index < 0 || index >= std::ssize(m_cells))
      return Error("bad_argument", "the cell was not opened", "there is no cell " + std::to_string(index),
                   "name one from 0 to " + std::to_string(std::ssize(m_cells) - 1), "cell", index);
    KV_TRY(openModel());
    const SweepCell& cell = m_cells[static_cast<std::size_t>(index)];
    const json set = KV_TRY(setOf(m_spec.prompts[cell.prompts]));
    KV_TRY(readStoriesOf(cell.prompts, cell.seed, set));
    return SweepCellInput{cell, m_stories.at(groupOf(cell))->stories, idOf(cell)};
  }

 private:
  /// Adds the work of a prompt set.
  Status measure(std::size_t prompts, SweepEstimate& out) {
    std::vector<const SweepCell*> ours;
    std::map<std::int64_t, StoryTokens> seeds;                  // of all stories
    std::map<std::int64_t, std::pair<Readers, Manifest>> runs;  // by seed: who reads its prompts, and the reference
    const Ask ask = m_spec.prompts[prompts].ask;
    for (const SweepCell& cell : m_cells) {
      if (cell.prompts != prompts || !isOurs(cell)) continue;
      ours.push_back(&cell);
      if (!runs.contains(cell.seed)) {
        const Manifest reference = KV_TRY(referenceManifest(m_spec, cell.seed));
        runs.emplace(cell.seed, std::pair(Readers{readerOf(reference, -1)}, reference));
        for (const SweepStory& one : m_stories.at({prompts, cell.seed})->stories) seeds[cell.seed].add(one, ask);
      }
      runs.at(cell.seed).first.insert(readerOf(cell.manifest, cell.index));
    }
    if (ours.empty()) return ok();
    StoryTokens all;  // `read` by each who reads
    std::int64_t read = 0, cells = 0;
    for (const auto& [seed, tokens] : seeds) {
      all += tokens;
      read += tokens.read * std::ssize(runs.at(seed).first);
    }
    for (const SweepCell* cell : ours) cells += seeds[cell->seed].fed;
    out.tokens += read + all.fed + cells;
    const Stories& first = *m_stories.at({prompts, ours.front()->seed});
    if (first.stories.empty()) return ok();
    Stories story;  // the first one alone
    story.stories = {first.stories.front()};
    StoryTokens one;
    one.add(story.stories.front(), ask);
    if (m_expressions.empty()) readAhead(ours, runs.at(ours.front()->seed).second, story);
    const auto perToken = static_cast<double>(std::max<std::int64_t>(1, one.fed));
    const double before = story.reads->work().seconds;
    const Clock::time_point begin = Clock::now();
    const auto* reference = referenceFor(*ours.front(), story, workOf(*ours.front(), story));
    if (!*reference) return reference->error();
    const double referred = since(begin) - (story.reads->work().seconds - before);
    const double each = KV_TRY(secondsOfACell(ours, story, out.measured));
    const PromptReads::Work work = story.reads->work();
    const double reading = m_expressions.empty()
        ? work.seconds / static_cast<double>(std::max<std::int64_t>(1, one.read)) * static_cast<double>(all.read)
        : work.seconds / static_cast<double>(std::max<std::int64_t>(1, work.tokens)) * static_cast<double>(read);
    out.seconds +=
        referred / perToken * static_cast<double>(all.fed) + each / perToken * static_cast<double>(cells) + reading;
    return ok();
  }

  using Readers = std::set<std::string>;

  /// Equal for those that share the reading of a prompt.
  std::string readerOf(const Manifest& manifest, std::int64_t cell) const {
    return m_expressions.empty() ? PromptReads::keyOf(manifest) : std::to_string(cell);
  }

  /// What cells of the first seed share, each policy once. A cell that cannot read says so when it runs.
  void readAhead(const std::vector<const SweepCell*>& ours, const Manifest& reference, Stories& story) {
    std::set<std::string> done;
    const auto ahead = [&](const Manifest& manifest) {
      if (!done.insert(PromptReads::keyOf(manifest) + manifest.policy.name).second) return;
      for (const SweepStory& one : story.stories)
        for (const std::vector<TokenId>& prompt : promptsOf(one, m_spec.prompts[ours.front()->prompts].ask))
          if (!story.reads->ahead(*m_host, manifest, prompt)) return;
    };
    ahead(reference);
    for (const SweepCell* cell : ours)
      if (cell->seed == ours.front()->seed) ahead(cell->manifest);
  }

  /// The mean over cells that lie evenly among those of the first seed, without the reading of prompts.
  Result<double> secondsOfACell(const std::vector<const SweepCell*>& ours, Stories& story, int& measured) {
    const std::int64_t seed = ours.front()->seed;
    const auto count = static_cast<std::size_t>(
        std::count_if(ours.begin(), ours.end(), [seed](const SweepCell* cell) { return cell->seed == seed; }));
    const std::size_t most = std::min(kMeasuredCells, count);
    const Clock::time_point start = Clock::now();
    double seconds = 0, taken = 0;
    std::optional<Error> error;
    for (std::size_t i = 0; i < most && (taken == 0 || since(start) < kMeasuredSeconds); ++i) {
      const SweepCell& cell = *ours[(2 * i + 1) * count / (2 * most)];
      const Clock::time_point begin = Clock::now();
      const double before = story.reads->work().seconds;
      SweepRow row = KV_TRY(runOne(cell, "", story));
      seconds += since(begin) - (story.reads->work().seconds - before);
      if (row.error) error = row.error;
      else ++measured;
      ++taken;
    }
    if (error && measured == 0) return *error;
    return seconds / taken;
  }

  Status expand() {
    m_cells = KV_TRY(sweepCells(m_spec));
    m_rows.resize(m_cells.size());
    m_lines.resize(m_cells.size());
    m_taken.resize(m_cells.size());
    KV_TRY(checkShard(m_spec, m_options.shard));
    for (const SweepCell& cell : m_cells) m_total += isOurs(cell);
    std::map<std::string, int> idle;
    for (const SweepCell& cell : m_cells)
      for (std::string& one : idleKeys(cell.manifest)) ++idle[std::move(one)];
    for (const auto& [said, cells] : idle)
      logWarning(said + " (" + std::to_string(cells) + " of " + std::to_string(m_cells.size()) + " cells)");
    for (const std::string& text : m_spec.expressions) m_expressions.push_back(KV_TRY(Expression::parse(text)));
    return ok();
  }

  Status openModel() {
    Manifest manifest = KV_TRY(referenceManifest(m_spec, m_spec.seeds.front()));
    m_host = KV_TRY(openSession(manifest, m_options.resources));
    m_model = modelFingerprint(m_host->model());
    m_numerics = m_host->snapshot()->info->numerics;
    return ok();
  }

  std::string pathOf(const std::string& file) const {
    static constexpr std::string_view kResource = "resource:";
    if (file.rfind(kResource, 0) == 0) return m_options.resources + "/" + file.substr(kResource.size());
    return std::filesystem::path(file).is_absolute() || m_options.folder.empty() ? file : m_options.folder + "/" + file;
  }

  Status readPrompts() {
    for (std::size_t i = 0; i < m_spec.prompts.size(); ++i) {
      const json set = KV_TRY(setOf(m_spec.prompts[i]));
      for (const std::int64_t seed : m_spec.seeds) KV_TRY(readStoriesOf(i, seed, set));
    }
    for (SweepCell& cell : m_cells) m_stories.at(groupOf(cell))->waiting += isOurs(cell);
    return ok();
  }

  /// The set that a file or the specification has; null = it is written for each seed.
  Result<json> setOf(const SweepPrompts& prompts) const {
    return prompts.file.empty() ? prompts.set : readPromptFile(pathOf(prompts.file));
  }

  Status readStoriesOf(std::size_t i, std::int64_t seed, const json& set) {
    const SweepPrompts& prompts = m_spec.prompts[i];
    const std::string place = prompts.file.empty() ? "prompts[" + std::to_string(i) + "].set" : pathOf(prompts.file);
    const json written = prompts.task.task.empty() ? json() : KV_TRY(writtenPrompts(prompts, seed));
    const json& used = prompts.task.task.empty() ? set : written;
    std::vector<SweepStory> stories = KV_TRY(readStories(used, place, seed, m_host->model(), prompts.use));
    auto& entry = m_stories[{i, seed}] = std::make_unique<Stories>();
    entry->stories = std::move(stories);
    entry->hash = hashOf(used);
    return ok();
  }

  bool isOurs(const SweepCell& cell) const {
    return shardOf(m_spec, cell, m_options.shard.count) == m_options.shard.index;
  }

  /// Samples of a generated task, kept for questions.jsonl.
  Result<json> writtenPrompts(const SweepPrompts& prompts, std::int64_t seed) {
    const TaskFrame frame = KV_TRY(taskFrame(m_host->model(), prompts.use.chat));
    const Json samples = KV_TRY(taskSamples(prompts.task, seed, frame, m_host->model().tokenizer()));
    for (const Json& sample : samples) {
      Json line{{"prompts", prompts.name}, {"seed", seed}};
      line.update(sample);
      m_questions += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    return json::parse(samples.dump());
  }

  /// Everything that decides a cell's figures.
  std::string idOf(const SweepCell& cell) const {
    json manifest = cell.manifest.toJson();
    manifest.erase("threads");
    const SweepPrompts& prompts = m_spec.prompts[cell.prompts];
    json content{{"schema", kSweepSchema},
                 {"model", m_model},
                 {"numerics", m_numerics},
                 {"manifest", manifest},
                 {"reference", m_spec.reference},
                 {"base", m_spec.base},
                 {"prompts", m_stories.at(groupOf(cell))->hash},
                 {"ask", askName(prompts.ask)},
                 {"stories", prompts.use.stories},
                 {"questions", prompts.use.questions},
                 {"seed", cell.seed},
                 {"measure", m_spec.measure}};
    if (!m_spec.expressions.empty()) content["expressions"] = m_spec.expressions;
    if (prompts.use.chat) content["chat"] = true;
    if (prompts.use.newTokens) content["max_new_tokens"] = prompts.use.newTokens;
    return hashOf(content);
  }

  /// Rules from outside that the specification names, by name: a sweep is not resumed with another rule.
  json addedRules() const {
    const std::string text = m_spec.given.dump();
    json out = json::object();
    for (const AddedKind kind : kAddedKinds)
      for (const Added* one : addedOf(kind))
        if (text.find(one->name) != std::string::npos) out[one->name] = one->revision;
    return out;
  }

  Json headNow() {
    json ids = json::array(), prompts = json::array();
    for (SweepCell& cell : m_cells) {
      m_ids.push_back(idOf(cell));
      ids.push_back(m_ids.back());
    }
    for (std::size_t i = 0; i < m_spec.prompts.size(); ++i)
      prompts.push_back(m_stories.at({i, m_spec.seeds.front()})->hash);
    Json head{{"kvlab_sweep", kSweepSchema},
              {"name", m_spec.name},
              {"cells", m_cells.size()},
              {"model", m_model},
              {"numerics", m_numerics},
              {"prompts", Json::parse(prompts.dump())},
              {"spec", Json::parse(m_spec.given.dump())},
              {"ids", hashOf(ids)},
              {"shard", Json()}};
    if (const SweepShard& shard = m_options.shard; shard.count > 1)
      head["shard"] = {{"index", shard.index}, {"count", shard.count}, {"cells", m_total}};
    if (const json rules = addedRules(); !rules.empty()) head["policies"] = Json::parse(rules.dump());
    return head;
  }

  Status openJournal() {
    std::error_code failed;
    std::filesystem::create_directories(m_options.out, failed);
    if (failed)
      return Error("bad_file", "cannot use the folder " + m_options.out, failed.message(), "give another --out");
    const std::string path = m_options.out + "/journal.jsonl";
    const Json head = headNow();
    const bool old = m_options.resume && std::filesystem::exists(path);
    m_journal = KV_TRY(old ? SweepJournal::open(path) : SweepJournal::create(path, head));
    if (!m_questions.empty() && !old) KV_TRY(writeWhole(m_options.out + "/questions.jsonl", m_questions));
    if (m_journal->head().is_null()) return m_journal->append(head);
    KV_TRY(compare(m_journal->head(), head));
    for (const Json& line : m_journal->lines()) KV_TRY(take(line, path));
    return ok();
  }

  /// A resumed sweep must be the one that was begun.
  static Status compare(const Json& begun, const Json& now) {
    for (const auto& [key, value] : now.items()) {
      const json before = json::parse(begun.is_object() && begun.contains(key) ? begun[key].dump() : "null");
      if (before == json::parse(value.dump())) continue;
      std::string what = key;
      if (key == "spec" && before.is_object())
        for (const auto& [inner, wanted] : value.items())
          if (!before.contains(inner) || before[inner] != json::parse(wanted.dump()))
            what = "the specification's " + inner;
      return Error("sweep_changed", "the sweep was not resumed", what + " is not what the journal was begun with",
                   "resume with the files of then, or start anew with another --out", key);
    }
    return ok();
  }

  Status take(const Json& line, const std::string& path) {
    SweepRow row = KV_TRY(sweepRow(line.value("row", Json()), path));
    row.answers = KV_TRY(sweepAnswers(line.value("answers", Json()), path));
    const auto at = static_cast<std::size_t>(row.index);
    if (row.index < 0 || at >= m_cells.size() || row.id != m_ids[at] || m_rows[at] || !isOurs(m_cells[at]))
      return Error("bad_journal", "cannot use the journal " + path,
                   "cell " + std::to_string(row.index) + " (" + row.id + ") is not one of this sweep, or stands twice",
                   "start again with another --out");
    finished(at, std::move(row), line);
    ++m_found;
    return ok();
  }

  void finished(std::size_t at, SweepRow row, Json line) {
    m_failed += row.error.has_value();
    m_lines[at] = std::move(line);
    m_rows[at] = std::move(row);
    ++m_done;
    --m_stories.at(groupOf(m_cells[at]))->waiting;
  }

  void work() {
    m_start = Clock::now();
    tell(nullptr);
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const std::int64_t open = m_total - m_done;
    const auto jobs = std::min<std::int64_t>(m_options.jobs > 0 ? m_options.jobs : cores, open);
    std::vector<std::thread> workers;
    try {
      for (std::int64_t i = 1; i < jobs; ++i) workers.emplace_back([this] { guardedLoop(); });
    } catch (const std::exception&) {  // no more threads: the started ones take all cells
    }
    if (jobs > 0) guardedLoop();
    for (std::thread& worker : workers) worker.join();
  }

  void guardedLoop() {
    try {
      loop();
    } catch (...) {
      const std::lock_guard lock(m_mutex);
      m_broken = caught("the sweep was stopped");
      m_stop = true;
    }
  }

  using Group = std::pair<std::size_t, std::int64_t>;  // prompt set and seed: cells that share references and reads
  static Group groupOf(const SweepCell& cell) { return {cell.prompts, cell.seed}; }

  /// The next cell of a worker: of its group, else of a group that no worker has begun, since two workers of one group
  /// wait for the same reads. The number of cells = there is none.
  std::size_t nextCell(std::optional<Group>& group) {
    const std::lock_guard lock(m_mutex);
    std::size_t next = m_cells.size();
    for (std::size_t at = m_cells.size(); at-- > 0;) {
      if (m_taken[at] || m_rows[at] || !isOurs(m_cells[at])) continue;
      const auto rank = [&](std::size_t cell) {
        const Group its = groupOf(m_cells[cell]);
        return its == group ? 0 : m_begun.contains(its) ? 2 : 1;
      };
      if (next == m_cells.size() || rank(at) <= rank(next)) next = at;
    }
    if (next == m_cells.size()) return next;
    m_taken[next] = true;
    group = groupOf(m_cells[next]);
    m_begun.insert(*group);
    return next;
  }

  void loop() {
    std::optional<Group> group;
    while (!m_stop) {
      const std::size_t at = nextCell(group);
      if (at == m_cells.size()) return;
      const Clock::time_point start = Clock::now();
      const SweepCell& cell = m_cells[at];
      Result<SweepRow> row = runOne(cell, m_ids[at], *m_stories.at(groupOf(cell)));
      if (!row) return;  // stopped
      const std::lock_guard lock(m_mutex);
      keep(at, row.take(), since(start));
    }
  }

  /// Under the lock.
  void keep(std::size_t at, SweepRow row, double seconds) {
    if (m_broken) return;
    Json line{{"row", Json::parse(sweepLine(row))}};
    if (!row.answers.empty()) line["answers"] = answersJson(row);
    line["seconds"] = seconds;
    if (Status written = m_journal->append(line); !written) {
      m_broken = written.error();
      m_stop = true;
      return;
    }
    Result<SweepRow> kept = sweepRow(line["row"], "the journal");  // as a resumed sweep would read it
    if (kept) kept->answers = std::move(row.answers);
    finished(at, kept ? kept.take() : std::move(row), std::move(line));
    Stories& stories = *m_stories.at(groupOf(m_cells[at]));
    if (stories.waiting == 0) stories.reference.reset(), stories.reads.reset();
    tell(&*m_rows[at]);
  }

  void tell(const SweepRow* row) {
    if (!m_options.progress) return;
    SweepProgress progress{m_done, m_total, m_failed, since(m_start), -1, row};
    const std::int64_t here = m_done - m_found;
    if (here > 0)
      progress.left = progress.seconds / static_cast<double>(here) * static_cast<double>(progress.total - m_done);
    if (!m_options.progress(progress)) m_stop = true;
  }

  bool goesOn() {
    if (!m_stop && m_options.stopped && m_options.stopped()) m_stop = true;
    return !m_stop;
  }

  CellWork workOf(const SweepCell& cell, const Stories& stories) {
    return {.stories = stories.stories,
            .reads = *stories.reads,
            .ask = m_spec.prompts[cell.prompts].ask,
            .recall = m_spec.measures("recall"),
            .kl = m_spec.measures("kl"),
            .attention = m_spec.measures("attention"),
            .needles = m_spec.measures("needles"),
            .bytes = m_spec.measures("bytes"),
            .answers = m_spec.measures("answers"),
            .expressions = m_expressions,
            .progress = [this](const std::string&, std::int64_t, std::int64_t) { return goesOn(); }};
  }

  /// An error means stopped; an error of the cell stands in its row.
  Result<SweepRow> runOne(const SweepCell& cell, const std::string& id, Stories& stories) {
    const SweepPrompts& prompts = m_spec.prompts[cell.prompts];
    SweepRow head{cell.index, id, prompts.name, std::string(askName(prompts.ask)), cell.seed, cell.axes, cell.budget};
    head.task = prompts.task.task;
    head.length = prompts.task.length;
    SweepRow row = head;
    const CellWork work = workOf(cell, stories);
    const Status done = guarded("the cell was given up", [&] {
      const auto* reference = referenceFor(cell, stories, work);
      return *reference ? runCell(*m_host, cell.manifest, work, **reference, row) : Status(reference->error());
    });
    if (!done && m_stop) return done.error();
    if (!done) {
      row = head;
      row.error = done.error();
    }
    return row;
  }

  const Result<std::vector<StoryTrace>>* referenceFor(const SweepCell& cell, Stories& stories, const CellWork& work) {
    const std::lock_guard lock(stories.making);
    if (!stories.reference) {
      Result<Manifest> manifest = referenceManifest(m_spec, cell.seed);
      if (manifest) stories.reference.emplace(runReference(*m_host, *manifest, work));
      else stories.reference.emplace(manifest.error());
    }
    return &*stories.reference;
  }

  Result<SweepOutcome> finish() {
    SweepOutcome out;
    for (std::optional<SweepRow>& row : m_rows)
      if (row) out.rows.push_back(std::move(*row));
    out.found = m_found;
    out.failed = m_failed;
    if (m_options.shard.count == 1) KV_TRY(writeSweepFiles(m_options.out, m_spec.name, m_lines));
    return out;
  }

  const SweepSpec& m_spec;
  const SweepOptions& m_options;
  std::vector<SweepCell> m_cells;
  std::vector<Expression> m_expressions;
  std::vector<std::string> m_ids;
  std::unique_ptr<Session> m_host;
  std::string m_model, m_numerics, m_questions;
  std::map<Group, std::unique_ptr<Stories>> m_stories;
  std::unique_ptr<SweepJournal> m_journal;

  std::mutex m_mutex;  // for the journal and the members below, while workers run
  std::vector<std::optional<SweepRow>> m_rows;
  std::vector<Json> m_lines;  // of the journal, by cell
  std::int64_t m_total = 0;   // cells of the shard
  std::int64_t m_done = 0, m_found = 0, m_failed = 0;
  std::optional<Error> m_broken;
  Clock::time_point m_start;
  std::vector<bool> m_taken;  // [cells] by a worker
  std::set<Group> m_begun;
  std::atomic<bool> m_stop{false};
};

}  // namespace

Result<SweepOutcome> runSweep(const SweepSpec& spec, const SweepOptions& options) { return Sweep(spec, options).run(); }

Result<SweepCellInput> sweepCellInput(const SweepSpec& spec, const SweepOptions& options, std::int64_t index) {
  return guarded("the cell was not opened", [&] { return Sweep(spec, options).input(index); });
}

Result<SweepSpec> namedSweep(const json& given, SweepOptions& options) {
  SweepSpec spec;
  if (given.is_string()) {
    const std::string path = specPath(given.get<std::string>(), options.resources);
    options.folder = std::filesystem::path(path).parent_path().string();
    spec = KV_TRY(readSweepSpec(path));
  } else {
    spec = KV_TRY(SweepSpec::fromJson(given));
  }
  if (options.out.empty()) options.out = spec.name + ".sweep";
  return spec;
}

Result<SweepOutcome> runSweep(const json& given, SweepOptions& options) {
  const SweepSpec spec = KV_TRY(namedSweep(given, options));
  return runSweep(spec, options);
}

Result<SweepEstimate> estimateSweep(const json& given, SweepOptions& options) {
  const SweepSpec spec = KV_TRY(namedSweep(given, options));
  return guarded("the sweep was not measured", [&] { return Sweep(spec, options).estimate(); });
}

Result<SweepSpec> readSweepSpec(const std::string& path) {
  json read = KV_TRY(readJsonFile(path, "bad_sweep", {.uniqueKeys = true}));
  Result<SweepSpec> spec = SweepSpec::fromJson(read);
  if (spec) return spec;
  Error error = spec.error();
  error.what = path + ": " + error.what;
  return error;
}

}  // namespace kvlab
