// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_runner.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "core/api/guarded.h"
#include "core/api/part_file.h"
#include "core/api/stopwatch.h"
#include "core/experiment/sweep_files.h"
#include "core/experiment/sweep_journal.h"
#include "core/experiment/sweep_lanes.h"
#include "core/model/files/strict_json.h"

namespace kvlab {

using nlohmann::json;
using Json = nlohmann::ordered_json;

namespace {

/// A name that is no file means a sweep of the resources.
std::string specPath(const std::string& given, const std::string& resources) {
  if (std::filesystem::exists(given)) return given;
  const std::string shipped = resources + "/sweeps/" + given + ".json";
  return std::filesystem::exists(shipped) ? shipped : given;
}

/// A specification whose base is changed, where it is an object.
json withBase(json given, const json& base) {
  if (base.is_object() && given.is_object()) given["base"].merge_patch(base);
  return given;
}

class Sweep {
 public:
  Sweep(const SweepSpec& spec, const SweepOptions& options) : m_options(options), m_setup(spec, options) {}

  Result<SweepOutcome> run() {
    KV_TRY(m_setup.open());
    m_rows.resize(m_setup.cells().size());
    m_lines.resize(m_setup.cells().size());
    m_taken.resize(m_setup.cells().size());
    KV_TRY(openJournal());
    work();
    if (m_broken) return *m_broken;
    if (m_done < m_setup.total())
      return Error("cancelled", "the sweep was stopped",
                   std::to_string(m_done) + " of " + std::to_string(m_setup.total()) + " cells are done",
                   "go on with --resume");
    return finish();
  }

 private:
  Status openJournal() {
    std::error_code failed;
    std::filesystem::create_directories(m_options.out, failed);
    if (failed)
      return Error("bad_file", "cannot use the folder " + m_options.out, failed.message(), "give another --out");
    const std::string path = m_options.out + "/journal.jsonl";
    for (const SweepCell& cell : m_setup.cells()) m_ids.push_back(m_setup.idOf(cell));
    const Json head = m_setup.head(m_ids);
    const bool old = m_options.resume && std::filesystem::exists(path);
    m_journal = KV_TRY(old ? SweepJournal::open(path) : SweepJournal::create(path, head));
    if (const std::string& questions = m_setup.questions(); !questions.empty() && !old)
      KV_TRY(writeWhole(m_options.out + "/questions.jsonl", questions));
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
    if (row.index < 0 || at >= m_setup.cells().size() || row.id != m_ids[at] || m_rows[at] ||
        !m_setup.isOurs(m_setup.cells()[at]))
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
    --m_setup.storiesOf(m_setup.cells()[at]).waiting;
  }

  void work() {
    m_watch = Stopwatch();
    tell(nullptr);
    const std::int64_t jobs = m_setup.workers(m_setup.total() - m_done);
    std::vector<std::thread> workers;
    try {
      for (std::int64_t i = 1; i < jobs; ++i) workers.emplace_back([this] { runLanes(); });
    } catch (const std::exception&) {  // no more threads: the started ones take all cells
    }
    if (jobs > 0) runLanes();
    for (std::thread& worker : workers) worker.join();
  }

  void stopOnFailure(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(m_mutex);
      m_broken = caught("the sweep was stopped");
      m_stop = true;
    }
  }

  void runLanes() {
    stopOnFailure([this] {
      SweepLanes lanes(m_setup, m_setup.total() - m_found);
      std::optional<SweepSetup::Group> group;
      lanes.run([&](PassRunner* runner, const std::function<double()>& seconds) {
        stopOnFailure([&] { loop(group, runner, seconds); });
      });
    });
  }

  /// The next cell of a worker with this group: of the group, else of a group that no worker has begun, since two
  /// workers of one group wait for the same reads. The number of cells = there is none.
  std::size_t nextCell(std::optional<SweepSetup::Group>& group) {
    const std::lock_guard lock(m_mutex);
    std::size_t next = m_setup.cells().size();
    for (std::size_t at = m_setup.cells().size(); at-- > 0;) {
      if (m_taken[at] || m_rows[at] || !m_setup.isOurs(m_setup.cells()[at])) continue;
      const auto rank = [&](std::size_t cell) {
        const SweepSetup::Group its = SweepSetup::groupOf(m_setup.cells()[cell]);
        return its == group ? 0 : m_begun.contains(its) ? 2 : 1;
      };
      if (next == m_setup.cells().size() || rank(at) <= rank(next)) next = at;
    }
    if (next == m_setup.cells().size()) return next;
    m_taken[next] = true;
    group = SweepSetup::groupOf(m_setup.cells()[next]);
    m_begun.insert(*group);
    return next;
  }

  void loop(std::optional<SweepSetup::Group>& group, PassRunner* runner, const std::function<double()>& seconds) {
    const Progress goesOn = [this](const std::string&, std::int64_t, std::int64_t) { return this->goesOn(); };
    while (!m_stop) {
      const std::size_t at = nextCell(group);
      if (at == m_setup.cells().size()) return;
      const double start = seconds();
      const SweepCell& cell = m_setup.cells()[at];
      Result<SweepRow> row = m_setup.run(cell, m_ids[at], m_setup.storiesOf(cell), goesOn, runner);
      if (!row) return;  // stopped
      const double taken = seconds() - start;
      const std::lock_guard lock(m_mutex);
      keep(at, row.take(), taken);
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
    SweepStories& stories = m_setup.storiesOf(m_setup.cells()[at]);
    if (stories.waiting == 0) stories.reference.reset(), stories.reads.reset();
    tell(&*m_rows[at]);
  }

  void tell(const SweepRow* row) {
    if (!m_options.progress) return;
    SweepProgress progress{m_done, m_setup.total(), m_failed, m_watch.seconds(), -1, row};
    const std::int64_t here = m_done - m_found;
    if (here > 0)
      progress.left = progress.seconds / static_cast<double>(here) * static_cast<double>(progress.total - m_done);
    if (!m_options.progress(progress)) m_stop = true;
  }

  bool goesOn() {
    if (!m_stop && m_options.stopped && m_options.stopped()) m_stop = true;
    return !m_stop;
  }

  Result<SweepOutcome> finish() {
    SweepOutcome out;
    for (std::optional<SweepRow>& row : m_rows)
      if (row) out.rows.push_back(std::move(*row));
    out.found = m_found;
    out.failed = m_failed;
    if (m_options.shard.count == 1) KV_TRY(writeSweepFiles(m_options.out, m_setup.spec().name, m_lines));
    return out;
  }

  const SweepOptions& m_options;
  SweepSetup m_setup;
  std::vector<std::string> m_ids;  // [cells]
  std::unique_ptr<SweepJournal> m_journal;

  std::mutex m_mutex;  // for the journal and the members below, while workers run
  std::vector<std::optional<SweepRow>> m_rows;
  std::vector<Json> m_lines;  // of the journal, by cell
  std::int64_t m_done = 0, m_found = 0, m_failed = 0;
  std::optional<Error> m_broken;
  Stopwatch m_watch;
  std::vector<bool> m_taken;  // [cells] by a worker
  std::set<SweepSetup::Group> m_begun;
  std::atomic<bool> m_stop{false};
};

}  // namespace

Result<SweepOutcome> runSweep(const SweepSpec& spec, const SweepOptions& options) { return Sweep(spec, options).run(); }

Result<SweepCellInput> sweepCellInput(const SweepSpec& spec, const SweepOptions& options, std::int64_t index) {
  return guarded("the cell was not opened", [&] { return SweepSetup(spec, options).input(index); });
}

Result<SweepSpec> namedSweep(const json& given, SweepOptions& options) {
  SweepSpec spec;
  if (given.is_string()) {
    const std::string path = specPath(given.get<std::string>(), options.resources);
    options.folder = std::filesystem::path(path).parent_path().string();
    spec = KV_TRY(readSweepSpec(path, options.base));
  } else {
    spec = KV_TRY(SweepSpec::fromJson(withBase(given, options.base)));
  }
  if (options.out.empty()) options.out = spec.name + ".sweep";
  return spec;
}

Result<SweepOutcome> runSweep(const json& given, SweepOptions& options) {
  const SweepSpec spec = KV_TRY(namedSweep(given, options));
  return runSweep(spec, options);
}

Result<SweepSpec> readSweepSpec(const std::string& path, const json& base) {
  const json read = KV_TRY(readJsonFile(path, "bad_sweep", {.uniqueKeys = true}));
  Result<SweepSpec> spec = SweepSpec::fromJson(withBase(read, base));
  if (spec) return spec;
  Error error = spec.error();
  error.what = path + ": " + error.what;
  return error;
}

}  // namespace kvlab
