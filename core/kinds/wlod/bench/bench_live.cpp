// SPDX-License-Identifier: Apache-2.0
// The focus allocator in use: a text goes in token by token, rounds come as they are due. Measured: rows of a full pass
// over rows computed, and the time of a full pass over the time of the edit, for each edit of the working context; all
// edits together; and questions about stories that were read and asked in this way. Each figure stands beside that of
// an allocator that does not weigh what an edit makes dirty, and answers beside those behind as many of the last tokens
// alone. semantics.md, section 8.
#include <algorithm>
#include <fstream>

#include "core/analysis/metrics.h"
#include "core/experiment/bench_rig.h"
#include "core/experiment/bench_truncation.h"
#include "core/experiment/prompt_set.h"
#include "core/model/files/strict_json.h"
#include "core/session/ticks.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

struct Weighing {
  const char* name;
  double dirty;
};
constexpr Weighing kWeighings[] = {{"weighs", WlodSettings{}.dirty}, {"does not weigh", 1}};

Result<std::unique_ptr<Session>> openLive(const BenchOptions& options, const nlohmann::json& wlod) {
  Manifest manifest = KV_TRY(Manifest::fromJson({{"model", options.quick ? "synthetic:tiny" : "demo"},
                                                 {"backend", options.backend},
                                                 {"threads", threadsOf(options)},
                                                 {"wlod", wlod},
                                                 {"history_bytes", 0},
                                                 {"check", {{"level", "off"}}}}));
  return openSession(manifest, options.resources);
}

/// The demo's story, again and again.
Result<std::vector<TokenId>> textOf(const BenchOptions& options, const Session& session, int moments) {
  if (options.quick) return benchTokens(moments, session.model().config().vocab);
  std::ifstream file(options.resources + "/demo/story.txt");
  const std::string story{std::istreambuf_iterator<char>(file), {}};
  const std::vector<TokenId> tokens = KV_TRY(session.model().tokenizer().encode(story, false));
  std::vector<TokenId> out;
  for (int i = 0; i < moments; ++i) out.push_back(tokens[at(i) % tokens.size()]);
  return out;
}

/// Costs of the edits of one text.
struct Costs {
  std::vector<double> rowRatios, us;
  double computed = 0, full = 0;  // rows
};

/// Reads the tokens one by one; `each` edit of the working context is added to `costs`.
Status read(Session& session, std::span<const TokenId> tokens, Costs* costs) {
  for (const TokenId token : tokens) {
    KV_TRY(failed(step(session, {token})));
    const WlodState& state = wlodIn(session.state());
    if (!costs || !state.change || state.change->tick != session.state().tick || state.change->swapped == 0) continue;
    costs->rowRatios.push_back(static_cast<double>(state.count()) / state.change->computed);
    costs->us.push_back(state.change->us);
    costs->computed += state.change->computed;
    costs->full += state.count();
  }
  return ok();
}

Status measureCosts(const BenchOptions& options, const char* attention, int budget, const Weighing& weighing,
                    const Progress& progress, nlohmann::json& rows) {
  const int moments = options.quick ? 200 : 6 * 1024, start = moments * 2 / 3;
  const std::string what = std::string(attention) + ", budget " + std::to_string(budget) + ", " + weighing.name;
  KV_TRY(goOn(progress, "live: " + what));
  std::unique_ptr<Session> session = KV_TRY(openLive(options,
                                                     {{"attention", attention},
                                                      {"budget", budget},
                                                      {"moments", 2 * moments},
                                                      {"protect", options.quick ? 32 : 128},
                                                      {"start_tokens", budget / 4},
                                                      {"start_gists", budget * 4},
                                                      {"cooldown", 0},
                                                      {"dirty", weighing.dirty}}));
  const std::vector<TokenId> text = KV_TRY(textOf(options, *session, moments));
  const auto begin = std::span(text).first(at(start));
  KV_TRY(failed(append(*session, {begin.begin(), begin.end()}, Source::Prompt, false)));
  Costs costs;
  KV_TRY(read(*session, std::span(text).subspan(at(start)), &costs));
  const auto began = BenchClock::now();
  KV_TRY(session->rebuild());
  const double fullUs = secondsSince(began) * 1e6;
  rows.push_back(benchRow("live", what, "edits", "edits", {static_cast<double>(costs.rowRatios.size())}));
  if (costs.rowRatios.empty()) return ok();
  rows.push_back(benchRow("live", what, "full_over_computed", "rows", costs.rowRatios));
  rows.push_back(benchRow("live", what, "full_over_computed_all", "rows", {costs.full / costs.computed}));
  for (double& us : costs.us) us = fullUs / us;
  rows.push_back(benchRow("live", what, "full_over_edit", "time", costs.us));
  return ok();
}

Status measureAnswers(const BenchOptions& options, const Weighing& weighing, const Progress& progress,
                      nlohmann::json& rows) {
  const std::string file = options.resources + "/prompts/recall-1024.json";
  nlohmann::json set = KV_TRY(readJsonFile(file, "bad_prompts"));
  const nlohmann::json wlod{{"budget", 352}, {"moments", 4096}, {"gist", "trained"},      {"protect", 64},
                            {"every", 8},    {"cooldown", 0},   {"dirty", weighing.dirty}};
  std::unique_ptr<Session> probe = KV_TRY(openLive(options, wlod));
  std::vector<SweepStory> stories;
  for (const int seed : {1, 2, 3}) {
    std::vector<SweepStory> some = KV_TRY(readStories(set, file, seed, probe->model(), {0, 0}));
    stories.insert(stories.end(), some.begin(), some.end());
  }
  Truncation truncation = KV_TRY(Truncation::open(options));
  double right = 0, truncated = 0, asked = 0;
  for (const SweepStory& story : stories) {
    KV_TRY(goOn(progress, std::string("live: answers, ") + weighing.name, static_cast<std::int64_t>(asked), 0));
    std::unique_ptr<Session> session = KV_TRY(openLive(options, wlod));
    KV_TRY(read(*session, story.tokens, nullptr));
    for (const SweepQuestion& question : story.questions) {
      std::unique_ptr<Session> asker = KV_TRY(session->fork());
      KV_TRY(read(*asker, question.tokens, nullptr));
      KV_TRY(read(*asker, std::span(question.reply).first(question.reply.size() - 1), nullptr));
      KV_TRY(refreshLogits(*asker));
      right += likeliestToken(*asker->state().logits) == question.reply.back();
      const std::vector<float> logits = KV_TRY(truncation.ask(story.tokens, question, asker->state().length()));
      truncated += likeliestToken(logits) == question.reply.back();
      ++asked;
    }
  }
  rows.push_back(benchRow("live", std::string("questions, ") + weighing.name, "answered", "share", {right / asked}));
  rows.push_back(benchRow("live", std::string("questions, ") + weighing.name, "answered_truncation", "share",
                          {truncated / asked}));
  rows.push_back(benchRow("live", std::string("questions, ") + weighing.name, "asked", "questions", {asked}));
  return ok();
}

}  // namespace

Status benchLive(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const std::vector<int> budgets = options.quick ? std::vector{96} : std::vector{512, 1024, 2048};
  for (const char* attention : {"flat", "pyramid"})
    for (const int budget : budgets)
      for (const Weighing& weighing : kWeighings)
        KV_TRY(measureCosts(options, attention, budget, weighing, progress, rows));
  for (const Weighing& weighing : kWeighings)
    if (!options.quick) KV_TRY(measureAnswers(options, weighing, progress, rows));
  return ok();
}

}  // namespace kvlab
