// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_estimate.h"

#include <algorithm>
#include <set>

#include "core/api/guarded.h"
#include "core/api/stopwatch.h"
#include "core/experiment/sweep_lanes.h"
#include "core/experiment/sweep_runner.h"

namespace kvlab {

using nlohmann::json;

namespace {

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

double perUnit(double seconds, std::int64_t units) {
  return seconds / static_cast<double>(std::max<std::int64_t>(1, units));
}

class Estimator {
 public:
  Estimator(const SweepSetup& setup, const SweepOptions& options)
      : m_setup(setup),
        m_lanes(setup, setup.total()),
        m_goesOn([&options](const std::string&, std::int64_t, std::int64_t) {
          return !options.stopped || !options.stopped();
        }) {}

  Result<SweepEstimate> run() {
    SweepEstimate out{.cells = m_setup.total()};
    for (std::size_t i = 0; i < m_setup.spec().prompts.size(); ++i) KV_TRY(measure(i, out));
    out.seconds /= static_cast<double>(std::max<std::int64_t>(1, m_setup.workers(m_setup.total())));
    return out;
  }

 private:
  using Cells = std::vector<const SweepCell*>;

  /// Adds the work of a prompt set.
  Status measure(std::size_t prompts, SweepEstimate& out) {
    Cells ours;
    std::map<std::int64_t, StoryTokens> seeds;                                // of all stories
    std::map<std::int64_t, std::pair<std::set<std::string>, Manifest>> runs;  // readers of prompts, and the reference
    const Ask ask = m_setup.spec().prompts[prompts].ask;
    for (const SweepCell& cell : m_setup.cells()) {
      if (cell.prompts != prompts || !m_setup.isOurs(cell)) continue;
      ours.push_back(&cell);
      if (!runs.contains(cell.seed)) {
        const Manifest reference = KV_TRY(referenceManifest(m_setup.spec(), cell.seed));
        runs.emplace(cell.seed, std::pair(std::set{readerOf(cell, reference)}, reference));
        for (const SweepStory& one : m_setup.storiesOf(cell).stories) seeds[cell.seed].add(one, ask);
      }
      runs.at(cell.seed).first.insert(readerOf(cell, cell.manifest));
    }
    if (ours.empty()) return ok();
    StoryTokens all;  // `read` by each who reads
    std::int64_t read = 0, cells = 0;
    for (const auto& [seed, tokens] : seeds) {
      all += tokens;
      read += tokens.read * std::ssize(runs.at(seed).first);
    }
    if (!m_setup.feedsReference()) all.fed = 0;
    for (const SweepCell* cell : ours) cells += seeds[cell->seed].fed;
    out.tokens += read + all.fed + cells;
    const SweepStories& first = m_setup.storiesOf(*ours.front());
    if (first.stories.empty()) return ok();
    SweepStories story;  // the first one alone
    story.stories = {first.stories.front()};
    story.reads = std::make_unique<PromptReads>();
    for (const SweepCell* cell : ours) story.reads->expect(m_setup.host(), cell->manifest);
    StoryTokens one;
    one.add(story.stories.front(), ask);
    if (m_setup.sharesReads()) readAhead(ours, runs.at(ours.front()->seed).second, story);
    const double before = story.reads->work().seconds;
    const Stopwatch watch;
    KV_TRY(m_setup.runReference(*ours.front(), story, m_goesOn));
    const double referred = watch.seconds() - (story.reads->work().seconds - before);
    const double each = KV_TRY(secondsOfACell(ours, story, out.measured));
    const PromptReads::Work work = story.reads->work();
    const double reading = m_setup.sharesReads() ? perUnit(work.seconds, one.read) * static_cast<double>(all.read)
                                                 : perUnit(work.seconds, work.tokens) * static_cast<double>(read);
    out.seconds += perUnit(referred, one.fed) * static_cast<double>(all.fed) +
        perUnit(each, one.fed) * static_cast<double>(cells) + reading;
    return ok();
  }

  /// Equal for those that share the reading of a prompt.
  std::string readerOf(const SweepCell& cell, const Manifest& manifest) const {
    if (m_setup.sharesReads()) return m_setup.storiesOf(cell).reads->keyOf(manifest);
    return &cell.manifest == &manifest ? std::to_string(cell.index) : "reference";
  }

  /// What cells of the first seed share, each policy once. A cell that cannot read says so when it runs.
  void readAhead(const Cells& ours, const Manifest& reference, SweepStories& story) {
    std::set<std::string> done;
    const auto ahead = [&](const Manifest& manifest) {
      if (!done.insert(story.reads->keyOf(manifest) + manifest.policy.name).second) return;
      for (const SweepStory& one : story.stories)
        for (const std::vector<TokenId>& prompt : promptsOf(one, m_setup.spec().prompts[ours.front()->prompts].ask))
          if (!story.reads->ahead(m_setup.host(), manifest, prompt)) return;
    };
    ahead(reference);
    for (const SweepCell* cell : ours)
      if (cell->seed == ours.front()->seed) ahead(cell->manifest);
  }

  /// The mean over cells that lie evenly among those of the first seed, in lanes, without the reading of prompts.
  Result<double> secondsOfACell(const Cells& ours, SweepStories& story, int& measured) {
    const std::int64_t seed = ours.front()->seed;
    const auto count = static_cast<std::size_t>(
        std::count_if(ours.begin(), ours.end(), [seed](const SweepCell* cell) { return cell->seed == seed; }));
    const std::size_t most = std::min(kMeasuredCells, count);
    const Stopwatch watch;
    const double before = story.reads->work().seconds;
    std::size_t taken = 0;  // lanes run one at a time
    std::optional<Error> stopped, failed;
    m_lanes.run([&](PassRunner* runner, const auto&) {
      while (!stopped && taken < most && (taken == 0 || watch.seconds() < kMeasuredSeconds)) {
        const SweepCell& cell = *ours[(2 * taken++ + 1) * count / (2 * most)];
        const Status done = guarded("the sweep was not measured", [&]() -> Status {
          const SweepRow row = KV_TRY(m_setup.run(cell, "", story, m_goesOn, runner));
          if (row.error) failed = row.error;
          else ++measured;
          return ok();
        });
        if (!done) stopped = done.error();
      }
    });
    if (stopped) return *stopped;
    if (failed && measured == 0) return *failed;
    return (watch.seconds() - (story.reads->work().seconds - before)) / static_cast<double>(taken);
  }

  const SweepSetup& m_setup;
  SweepLanes m_lanes;
  Progress m_goesOn;
};

}  // namespace

Result<SweepEstimate> estimateSweep(const json& given, SweepOptions& options) {
  const SweepSpec spec = KV_TRY(namedSweep(given, options));
  return guarded("the sweep was not measured", [&]() -> Result<SweepEstimate> {
    SweepSetup setup(spec, options);
    KV_TRY(setup.open());
    return Estimator(setup, options).run();
  });
}

}  // namespace kvlab
