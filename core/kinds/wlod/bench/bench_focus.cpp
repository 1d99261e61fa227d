// SPDX-License-Identifier: Apache-2.0
// Cost of a gist for the demo model and gain by focus: questions about stories whose facts stand as tokens, in
// LOD1, in LOD2, and where the focus allocator may look for them. The same questions throughout: share answered (the
// deciding token of the reply is the likeliest), KL of the deciding token against the story as tokens, entries. Beside
// each figure stands truncation: as many rows as there were entries, all of them the last tokens alone. Phases
// stay within what the model was trained on. semantics.md, section 8.
#include <algorithm>
#include <filesystem>

#include "core/analysis/metrics.h"
#include "core/api/sweep_table.h"
#include "core/experiment/bench_rig.h"
#include "core/experiment/bench_truncation.h"
#include "core/experiment/prompt_set.h"
#include "core/kinds/wlod/verbs/wlod_session.h"
#include "core/model/files/strict_json.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

constexpr std::int32_t kStory = 1024;  // moments that stories are filled up to
constexpr int kTail = 64;              // filler behind them, which stays

/// Where the facts stand before a question is asked.
struct Setting {
  const char* name;
  bool needle = false;  // the blocks of the fact alone are collapsed
  int gists = -1;       // cold start: moments as LOD1; -1 = all as tokens
  int rounds = 0;       // rounds of the focus allocator before the deciding token
};
constexpr Setting kSettings[] = {{"fact in LOD1, the rest tokens", true},
                                 {"all in LOD1", false, kStory},
                                 {"all in LOD2", false, 0},
                                 {"all in LOD1, focus", false, kStory, 3},
                                 {"all in LOD2, focus", false, 0, 6}};

/// The demo model with room for a whole story; `wlod` changes what is not said here.
Result<std::unique_ptr<Session>> openWith(const BenchOptions& options, const nlohmann::json& wlod) {
  nlohmann::json wanted{{"budget", 4096}, {"moments", 4096}, {"lens", "off"}, {"protect", 0}, {"cooldown", 0}};
  wanted.update(wlod);
  Manifest manifest = KV_TRY(Manifest::fromJson({{"model", "demo"},
                                                 {"backend", options.backend},
                                                 {"threads", threadsOf(options)},
                                                 {"wlod", wanted},
                                                 {"check", {{"level", "off"}}}}));
  return openSession(manifest, options.resources);
}

Result<std::unique_ptr<Session>> openFor(const BenchOptions& options, const Setting* setting, const std::string& gist,
                                         double sigma) {
  nlohmann::json wlod{{"gist", gist}, {"sigma", sigma}};
  if (setting && setting->gists >= 0)
    wlod.update({{"budget", 352}, {"start_tokens", kTail}, {"start_gists", setting->gists}, {"protect", kTail}});
  if (setting && setting->rounds) wlod["lens"] = "attention";
  return openWith(options, wlod);
}

/// A story, then sentences that say nothing, so that it ends with a whole LOD2 and a tail of tokens.
Result<std::vector<TokenId>> filled(const Session& session, const SweepStory& story) {
  std::vector<TokenId> filler = KV_TRY(session.model().tokenizer().encode(
      " the rain falls again . a bird sings at dawn . the wind blows all day .", false));
  std::vector<TokenId> out = story.tokens;
  for (std::size_t i = 0; out.size() < kStory + kTail; ++i) out.push_back(filler[i % filler.size()]);
  return out;
}

struct Answer {
  bool right = false;
  std::vector<float> logits;  // before the deciding token
  double entries = 0;
};

/// Asks, begins the reply, lets the allocator look where the deciding token comes; the session is then where it was.
Result<Answer> ask(Session& session, const SweepQuestion& question, const Setting* setting) {
  const Tick before = session.state().tick;
  if (setting && setting->needle) {
    std::vector<Action> edits;
    for (std::int32_t block = question.needleBegin / kGistBlock; block * kGistBlock < question.needleEnd; ++block)
      edits.push_back(Collapse{TreeNode{1, block * kGistBlock}.id()});
    KV_TRY(inject(session, std::move(edits)));
    KV_TRY(failed(apply(session)));
  }
  KV_TRY(failed(append(session, question.tokens, Source::Prompt, false)));
  const std::vector<TokenId> begun(question.reply.begin(), question.reply.end() - 1);
  if (!begun.empty()) KV_TRY(failed(append(session, begun, Source::Prompt, false)));
  for (int round = 0; setting && round < setting->rounds; ++round) KV_TRY(failed(refocus(session)));
  Answer out;
  out.entries = session.state().length();
  out.logits = *session.state().logits;
  out.right = likeliestToken(out.logits) == question.reply.back();
  KV_TRY(goTo(session, before));
  return out;
}

/// Every question of every story; setting null = all facts stand as tokens.
Result<std::vector<Answer>> askAll(const BenchOptions& options, const std::vector<SweepStory>& stories,
                                   const Setting* setting, const std::string& gist, double sigma,
                                   const Progress& progress) {
  std::vector<Answer> out;
  for (std::size_t s = 0; s < stories.size(); ++s) {
    KV_TRY(goOn(progress, std::string("focus: ") + (setting ? setting->name : "tokens"), static_cast<std::int64_t>(s),
                static_cast<std::int64_t>(stories.size())));
    std::unique_ptr<Session> session = KV_TRY(openFor(options, setting, gist, sigma));
    std::vector<TokenId> text = KV_TRY(filled(*session, stories[s]));
    KV_TRY(failed(append(*session, text, Source::Prompt, false)));
    for (const SweepQuestion& question : stories[s].questions) out.push_back(KV_TRY(ask(*session, question, setting)));
  }
  return out;
}

/// The same questions behind the last tokens alone, each with as many rows as `beside` had entries.
Result<std::vector<Answer>> askTruncated(const BenchOptions& options, const std::vector<SweepStory>& stories,
                                         std::span<const Answer> beside, const Progress& progress) {
  Truncation truncation = KV_TRY(Truncation::open(options));
  std::vector<Answer> out;
  for (const SweepStory& story : stories) {
    KV_TRY(goOn(progress, "focus: truncation", std::ssize(out), std::ssize(beside)));
    const std::vector<TokenId> text = KV_TRY(filled(truncation.session(), story));
    for (const SweepQuestion& question : story.questions) {
      Answer one;
      one.entries = beside[out.size()].entries;
      one.logits = KV_TRY(truncation.ask(text, question, static_cast<std::int64_t>(one.entries)));
      one.right = likeliestToken(one.logits) == question.reply.back();
      out.push_back(std::move(one));
    }
  }
  return out;
}

void compare(const std::string& what, const std::vector<Answer>& tokens, const std::vector<Answer>& answers,
             nlohmann::json& rows) {
  int right = 0;
  double kl = 0, entries = 0, same = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    right += answers[i].right;
    kl += klDivergence(tokens[i].logits, answers[i].logits);
    same += likeliestToken(tokens[i].logits) == likeliestToken(answers[i].logits);
    entries += answers[i].entries;
  }
  const auto n = static_cast<double>(answers.size());
  const auto [low, high] = wilson(right, static_cast<int>(answers.size()));
  const auto add = [&](const char* metric, const char* unit, double value) {
    rows.push_back(benchRow("focus", what, metric, unit, {value}));
  };
  add("answered", "share", right / n);
  add("answered_low", "share", low);
  add("answered_high", "share", high);
  add("kl", "nats", kl / n);
  add("top1_agreement", "share", same / n);
  add("entries", "entries", entries / n);
}

/// A block near the beginning is collapsed and everything behind it dirty; `selective` computes some of it.
struct Selective {
  double ms = 0, incrementalMs = 0, kl = 0, drift = 0;
  int right = 0, exactRight = 0, asked = 0;
};

Result<std::unique_ptr<Session>> collapsed(const BenchOptions& options, const SweepStory& story,
                                           const nlohmann::json& how, double& ms) {
  std::unique_ptr<Session> session = KV_TRY(openWith(options, how));
  std::vector<TokenId> text = KV_TRY(filled(*session, story));
  KV_TRY(failed(append(*session, text, Source::Prompt, false)));
  KV_TRY(inject(*session, {Collapse{TreeNode{1, 2 * kGistBlock}.id()}}));
  const auto start = BenchClock::now();
  KV_TRY(failed(apply(*session)));
  ms += secondsSince(start) * 1e3;
  return session;
}

Status measureSelective(const BenchOptions& options, const std::vector<SweepStory>& stories, double ratio,
                        const Progress& progress, nlohmann::json& rows) {
  Selective all;
  for (const SweepStory& story : stories) {
    KV_TRY(goOn(progress, "focus: selective " + nlohmann::json(ratio).dump(), all.asked, 0));
    std::unique_ptr<Session> exact =
        KV_TRY(collapsed(options, story, {{"recompute", "incremental"}}, all.incrementalMs));
    std::unique_ptr<Session> some =
        KV_TRY(collapsed(options, story, {{"recompute", "selective"}, {"selective_ratio", ratio}}, all.ms));
    Drift drift = KV_TRY(measureDrift(*some));
    for (const auto* layers : {&drift.k, &drift.v})
      all.drift = std::max(all.drift, *std::max_element(layers->begin(), layers->end()));
    for (const SweepQuestion& question : story.questions) {
      if (question.needleBegin < 3 * kGistBlock) continue;  // the fact itself is behind the gist
      const Answer one = KV_TRY(ask(*exact, question, nullptr)), other = KV_TRY(ask(*some, question, nullptr));
      all.kl += klDivergence(one.logits, other.logits);
      all.right += other.right;
      all.exactRight += one.right;
      ++all.asked;
    }
  }
  const std::string what = "selective " + nlohmann::json(ratio).dump() + ", a block at 6 % collapsed";
  const auto add = [&](const char* metric, const char* unit, double value) {
    rows.push_back(benchRow("focus", what, metric, unit, {value}));
  };
  add("incremental_over_selective", "x", all.incrementalMs / all.ms);
  add("kl", "nats", all.kl / std::max(1, all.asked));
  add("drift", "relative L2", all.drift);
  add("answered", "share", static_cast<double>(all.right) / std::max(1, all.asked));
  add("answered_incremental", "share", static_cast<double>(all.exactRight) / std::max(1, all.asked));
  return ok();
}

}  // namespace

Status benchFocus(const BenchOptions& options, nlohmann::json& rows, const Progress& progress) {
  const std::string file = options.resources + "/prompts/recall-1024.json";
  nlohmann::json set = KV_TRY(readJsonFile(file, "bad_prompts"));
  std::unique_ptr<Session> probe = KV_TRY(openFor(options, nullptr, "mean", 1));
  std::vector<SweepStory> stories;
  for (const int seed : options.quick ? std::vector{1} : std::vector{1, 2, 3}) {
    std::vector<SweepStory> some =
        KV_TRY(readStories(set, file, seed, probe->model(), {options.quick ? 1 : 0, options.quick ? 1 : 0}));
    stories.insert(stories.end(), some.begin(), some.end());
  }
  std::vector<Answer> tokens = KV_TRY(askAll(options, stories, nullptr, "mean", 1, progress));
  compare("tokens", tokens, tokens, rows);
  for (const double ratio : {0.0, 0.05, 0.15, 0.5}) KV_TRY(measureSelective(options, stories, ratio, progress, rows));
  const bool trained = std::filesystem::exists(options.resources + "/gists/demo.safetensors");
  for (const std::string gist : {"mean", "trained"})
    for (const double sigma : {1.0, 0.0}) {
      if (gist == "trained" && !trained) continue;
      for (const Setting& setting : kSettings) {
        std::vector<Answer> answers = KV_TRY(askAll(options, stories, &setting, gist, sigma, progress));
        compare(std::string(setting.name) + ", gist " + gist + (sigma > 0 ? "" : ", sigma 0"), tokens, answers, rows);
        if (gist == "trained" || sigma == 0) continue;
        std::vector<Answer> truncated = KV_TRY(askTruncated(options, stories, answers, progress));
        compare(std::string(setting.name) + ", truncation to as many rows", tokens, truncated, rows);
      }
    }
  return ok();
}

}  // namespace kvlab
