// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_cell.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/analysis/metrics.h"
#include "core/model/decoder/sampler.h"
#include "core/model/decoder/transformer.h"
#include "core/policy/policy.h"
#include "core/session/observe.h"
#include "core/session/ticks.h"
#include "core/session/truth.h"
#include "core/tasks/string_match.h"

namespace kvlab {
namespace {

constexpr int kDistances[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 1 << 30};

/// The error of a tick that failed.
Status failed(const TickReport& report) { return report.ok ? ok() : Status(*report.error); }

/// Logits of the next token; an edit may have made those of the state stale.
Result<std::vector<float>> freshLogits(Session& session) {
  KV_TRY(refreshLogits(session));
  if (!session.state().logits)
    return Error("empty", "there is nothing to compare", "the session has no logits", "give the story some tokens");
  return *session.state().logits;
}

std::vector<TokenId> joined(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  std::vector<TokenId> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

/// Tokens that are fed one by one behind the prompt, without the deciding token.
std::vector<TokenId> fed(const SweepQuestion& question, Ask ask) {
  std::vector<TokenId> out = ask == Ask::After ? question.tokens : std::vector<TokenId>{};
  out.insert(out.end(), question.reply.begin(), question.reply.end() - 1);
  return out;
}

/// Tokens that are fed before the reply.
std::size_t beforeReply(const SweepQuestion& question, Ask ask) {
  return ask == Ask::After ? question.tokens.size() : 0;
}

/// Sessions of one story: the prompt is read once, or once per question where it holds the question.
class StoryRun {
 public:
  /// future: attention that an oracle policy is told in advance; null = nothing.
  StoryRun(const Session& host, const Manifest& manifest, const SweepStory& story, const CellWork& work,
           std::shared_ptr<const FutureMass> future = nullptr)
      : m_host(host), m_manifest(manifest), m_story(story), m_work(work), m_future(std::move(future)) {}

  /// A session that has read the prompt of this question.
  Result<std::unique_ptr<Session>> ready(const SweepQuestion& question) {
    if (m_work.ask == Ask::Inside) return read(joined(m_story.tokens, question.tokens));
    if (!m_read) m_read = KV_TRY(read(m_story.tokens));
    return m_read->fork();
  }

 private:
  /// An expression may count ticks.
  Result<std::unique_ptr<Session>> read(const std::vector<TokenId>& prompt) const {
    return m_work.reads.ended(m_host, m_manifest, prompt, m_future, m_work.expressions.empty());
  }

  const Session& m_host;
  const Manifest& m_manifest;
  const SweepStory& m_story;
  const CellWork& m_work;
  std::shared_ptr<const FutureMass> m_future;
  std::unique_ptr<Session> m_read;
};

using AfterPrompt = std::function<void(Session&)>;
/// before: the state that the token was fed to; null behind the prompt.
using AfterToken =
    std::function<Status(Session&, const CacheState* before, std::size_t position, std::vector<float> logits)>;

/// Feeds the tokens to a session that has read its prompt; position 0 of `token` is the end of the prompt.
Status runQuestion(std::unique_ptr<Session> session, const std::vector<TokenId>& tokens, const AfterPrompt& prompt,
                   const AfterToken& token) {
  prompt(*session);
  for (std::size_t i = 0; i <= tokens.size(); ++i) {
    const CacheState before = session->state();
    if (i > 0) KV_TRY(failed(step(*session, {tokens[i - 1]})));
    std::vector<float> logits = KV_TRY(freshLogits(*session));
    KV_TRY(token(*session, i > 0 ? &before : nullptr, i, std::move(logits)));
  }
  return ok();
}

/// The likeliest tokens behind the session's context, which stays as it is. An end-of-text token ends them and is not
/// among them.
Result<std::vector<TokenId>> greedyReply(const Session& session, std::vector<float> logits, std::int32_t most,
                                         const std::function<Status()>& goesOn) {
  std::unique_ptr<Session> fork = KV_TRY(session.fork());
  fork->transformer().setRunner(session.transformer().runner());
  const std::vector<TokenId> ends = session.model().tokenizer().eos();
  std::vector<TokenId> out;
  for (;;) {
    const TokenId next = likeliestToken(logits);
    if (std::find(ends.begin(), ends.end(), next) != ends.end()) return out;
    out.push_back(next);
    if (std::ssize(out) >= most) return out;
    KV_TRY(goesOn());
    KV_TRY(failed(step(*fork, {next})));
    logits = KV_TRY(freshLogits(*fork));
  }
}

double liveBytes(const Session& session) { return static_cast<double>(session.snapshot()->bytes.live); }

Error cancelled() { return {"cancelled", "the sweep was stopped", "on request", "resume it"}; }

void keepAttention(const Session& session, QuestionTrace& trace) {
  const auto attention = session.state().attention;
  if (!attention) return;
  trace.layers = session.cacheLayers();
  trace.mass.push_back(attention->mass);
  trace.rows.emplace_back();
  for (const auto& map : attention->maps) trace.rows.back().emplace_back(map->ledger.begin(), map->ledger.end());
}

/// The attention that all questions about a story and their replies paid to each of its rows, a list for each cache
/// layer of the reference. Ledger ids of a prompt are its positions.
std::shared_ptr<const FutureMass> futureOf(const StoryTrace& story) {
  auto out = std::make_shared<FutureMass>();
  CacheLayers layers;
  std::vector<std::vector<float>> paid;  // [cache layers][rows]
  for (const QuestionTrace& question : story.questions)
    for (std::size_t position = 0; position < question.mass.size(); ++position) {
      layers = question.layers;
      paid.resize(question.mass[position].size());
      for (std::size_t layer = 0; layer < paid.size(); ++layer) {
        const std::vector<LedgerId>& rows = question.rows[position][layer];
        std::vector<float>& mass = paid[layer];
        if (!rows.empty()) mass.resize(std::max(mass.size(), static_cast<std::size_t>(rows.back().value()) + 1));
        for (std::size_t i = 0; i < rows.size(); ++i)
          mass[static_cast<std::size_t>(rows[i].value())] += question.mass[position][layer][i];
      }
    }
  for (const std::vector<float>& mass : paid) out->rows = std::max(out->rows, static_cast<std::int32_t>(mass.size()));
  out->mass.resize(at(layers.layers));
  for (const CacheLayer own : layers.each()) {
    std::vector<float>& mass = out->mass[at(layers.layerOf(own))];
    mass.insert(mass.end(), paid[at(own)].begin(), paid[at(own)].end());
    mass.resize(mass.size() + at(out->rows) - paid[at(own)].size());
  }
  return out;
}

/// [ledger] of one layer: 1 where the row is resident.
std::vector<std::uint8_t> residency(const CacheState& state, CacheLayer layer) {
  std::vector<std::uint8_t> out(state.ledger.size(), 0);
  const ResidencyView& map = state.map(layer);
  for (std::size_t i = static_cast<std::size_t>(map.first); i < map.size(); ++i)
    out[static_cast<std::size_t>(map.ledger[i].value())] = 1;
  return out;
}

class CellSamples {
 public:
  void add(double value) { m_values.push_back(value); }
  Summary summary() const { return kvlab::summarise(m_values); }
  void into(SweepRow& row, const char* mean, const char* median = nullptr, const char* p99 = nullptr) const {
    const Summary all = summary();
    if (all.count == 0) return;
    row.setMeasure(mean, all.mean);
    if (median) row.setMeasure(median, all.median);
    if (p99) row.setMeasure(p99, all.p99);
  }

 private:
  std::vector<double> m_values;
};

/// All figures of one cell while it runs.
class Tally {
 public:
  Tally(const CellWork& work, SweepRow& row) : m_work(work), m_row(row), m_values(work.expressions.size()) {}

  void beginStory() { m_row.byStory.emplace_back(0, 0); }

  void prompt(const Session& session, const SweepQuestion& question) {
    const CacheState& state = session.state();
    double rows = 0;
    std::vector<std::int32_t> needles;
    for (const TaskSpan& span : question.needles)
      for (std::int32_t at = span.begin; at < span.end; ++at) needles.push_back(at);
    m_kept.clear();
    for (const CacheLayer layer : state.layers()) {
      const std::vector<std::uint8_t> here = residency(state, layer);
      rows += static_cast<double>(state.map(layer).resident());
      if (!needles.empty()) m_kept.push_back(survival(here, needles));
      if (!question.needleAt.empty()) m_answer.add(survival(here, question.needleAt));
    }
    for (const double kept : m_kept) m_survival.add(kept);
    m_rowsKept.add(rows / state.cacheLayers().count());
    m_rowsPrompt.add(state.length());
    m_bytes.add(liveBytes(session));
  }

  /// Logits and residency after `position` tokens behind the prompt.
  void token(const Session& session, const SweepQuestion& question, const QuestionTrace& reference,
             std::size_t position, std::span<const float> logits) {
    const std::size_t before = beforeReply(question, m_work.ask);
    if (position == 0) m_right = true, m_nll = 0;
    if (position >= before) reply(question, reference, position, position - before, logits);
    if (position == 0) return;
    if (m_work.kl) {
      m_kl.add(klDivergence(reference.logits[position], logits));
      m_top1.add(likeliestToken(reference.logits[position]) == likeliestToken(logits) ? 1 : 0);
    }
    if (m_work.attention && position <= reference.mass.size()) attention(session, reference, position - 1);
  }

  /// Evaluates the work's expressions behind the prompt (before = null) or for the tick that took a token.
  Status expressions(Session& session, const CacheState* before) {
    if (m_work.expressions.empty()) return ok();
    Sight at;
    const auto needs = [&](Need need) {
      return std::ranges::any_of(m_work.expressions, [need](const Expression& one) { return one.needs(need); });
    };
    at.now = observeNow(session, needs);
    at.before.state = before;
    if (before && needs(Need::Exactness)) at.before.exactness = lastLayerExactness(session, *before);
    at.report = before ? session.timeline().current().report.get() : nullptr;
    for (std::size_t i = 0; i < m_values.size(); ++i) {
      const Expression& asked = m_work.expressions[i];
      KV_TRY(fits(session, asked));
      if (asked.ofTick() && !before) continue;
      const WatchValue value = asked.value(at);
      const bool* flag = std::get_if<bool>(&value);
      const double number = flag ? *flag : std::get<double>(value);
      if (std::isfinite(number)) m_values[i].add(number);
    }
    return ok();
  }

  /// A generated reply to the question that is being fed.
  void answer(const Session& session, const SweepQuestion& question, std::size_t story, std::size_t place,
              const std::vector<TokenId>& ids) {
    SweepAnswer& out = m_row.answers.emplace_back();
    out.story = static_cast<int>(story);
    out.question = static_cast<int>(place);
    out.depth = question.depth;
    out.wanted = question.answers;
    for (const TokenId id : ids) out.ids.push_back(id.value());
    out.text = session.model().tokenizer().decode(ids, true);
    const StringMatch match = stringMatch(out.text, question.answers);
    out.score = match.all;
    out.part = match.part;
    out.kept = m_kept;
    m_row.byScore.resize(m_row.byStory.size());
    m_row.byScore.back().first += match.all;
    m_row.byScore.back().second += 1;
  }

  void finish() {
    if (m_work.recall) finishRecall();
    finishAnswers();
    for (std::size_t i = 0; i < m_values.size(); ++i) {
      const Summary all = m_values[i].summary();
      m_row.expressions.emplace_back(m_work.expressions[i].text(), all.count ? std::optional(all.mean) : std::nullopt);
    }
    if (m_work.kl) {
      m_kl.into(m_row, "kl_mean", "kl_median", "kl_p99");
      m_klAnswer.into(m_row, "kl_answer");
      m_dnll.into(m_row, "dnll");
      m_top1.into(m_row, "top1");
    }
    if (m_work.attention) m_mass.into(m_row, "attention_kept");
    if (m_work.needles) {
      m_survival.into(m_row, "needle_survival");
      m_answer.into(m_row, "needle_answer");
    }
    if (!m_work.bytes) return;
    m_rowsPrompt.into(m_row, "rows_prompt");
    m_rowsKept.into(m_row, "rows_kept");
    m_bytes.into(m_row, "bytes_live");
  }

 private:
  /// `place`: index of the reply's token that these logits choose.
  void reply(const SweepQuestion& question, const QuestionTrace& reference, std::size_t position, std::size_t place,
             std::span<const float> logits) {
    const bool hit = likeliestToken(logits) == question.reply[place];
    m_right = m_right && hit;
    m_nll += negativeLogLikelihood(logits, question.reply[place]);
    if (place + 1 < question.reply.size()) return;
    if (m_work.answers && !m_row.answers.empty() && !question.answers.empty())
      m_row.answers.back().nll = m_nll / static_cast<double>(question.reply.size());
    m_asked += 1;
    m_forced += hit;
    m_row.byStory.back().first += m_right;
    m_row.byStory.back().second += 1;
    const auto band = static_cast<std::size_t>(std::find_if(std::begin(kDistances), std::end(kDistances),
                                                            [&](int most) { return question.distance <= most; }) -
                                               std::begin(kDistances));
    m_distances[band].first += m_right;
    m_distances[band].second += 1;
    if (!m_work.kl) return;
    m_klAnswer.add(klDivergence(reference.logits[position], logits));
    m_dnll.add(negativeLogLikelihood(logits, question.reply.back()) -
               negativeLogLikelihood(reference.logits[position], question.reply.back()));
  }

  void attention(const Session& session, const QuestionTrace& reference, std::size_t position) {
    double sum = 0;
    const CacheLayers &own = session.cacheLayers(), &layers = own.byHead() ? own : reference.layers;
    for (const CacheLayer layer : layers.each()) {
      const std::vector<std::uint8_t> here = residency(session.state(), own.with(layer, layers));
      const std::size_t l = at(reference.layers.with(layer, layers));
      std::vector<std::uint8_t> kept(reference.mass[position][l].size(),
                                     1);  // the entry behind the map is the query's own row
      for (std::size_t i = 0; i < reference.rows[position][l].size() && i < kept.size(); ++i) {
        const auto id = static_cast<std::size_t>(reference.rows[position][l][i].value());
        kept[i] = id < here.size() ? here[id] : std::uint8_t{0};
      }
      sum += massKept(reference.mass[position][l], kept);
    }
    m_mass.add(sum / layers.count());
  }

  void finishAnswers() {
    if (m_row.answers.empty()) return;
    CellSamples score, part, nll, tokens;
    for (const SweepAnswer& one : m_row.answers) {
      score.add(one.score);
      part.add(one.part);
      if (one.nll && std::isfinite(*one.nll)) nll.add(*one.nll);
      tokens.add(static_cast<double>(one.ids.size()));
    }
    const auto [low, high] = meanInterval(m_row.byScore);
    m_row.setMeasure("answers", static_cast<double>(m_row.answers.size()));
    score.into(m_row, "score");
    m_row.setMeasure("score_low", low);
    m_row.setMeasure("score_high", high);
    part.into(m_row, "score_part");
    nll.into(m_row, "answer_nll");
    tokens.into(m_row, "answer_tokens");
  }

  void finishRecall() {
    int right = 0;
    for (const auto& [answered, asked] : m_row.byStory) right += answered;
    m_row.setMeasure("stories", static_cast<double>(m_row.byStory.size()));
    m_row.setMeasure("questions", m_asked);
    m_row.setMeasure("right", right);
    if (m_asked == 0) return;
    const auto [low, high] = wilson(right, m_asked);
    m_row.setMeasure("recall", static_cast<double>(right) / m_asked);
    m_row.setMeasure("recall_low", low);
    m_row.setMeasure("recall_high", high);
    m_row.setMeasure("recall_forced", static_cast<double>(m_forced) / m_asked);
    for (std::size_t i = 0; i < std::size(kDistances); ++i)
      if (m_distances[i].second)
        m_row.byDistance.push_back({kDistances[i], m_distances[i].first, m_distances[i].second});
  }

  const CellWork& m_work;
  SweepRow& m_row;
  bool m_right = true;
  double m_nll = 0;            // of the reply so far
  std::vector<double> m_kept;  // [layers] share of the rows of the question's needles
  int m_asked = 0, m_forced = 0;
  std::array<std::pair<int, int>, std::size(kDistances)> m_distances{};
  std::vector<CellSamples> m_values;  // [expressions]
  CellSamples m_kl, m_klAnswer, m_dnll, m_top1, m_mass, m_survival, m_answer, m_rowsKept, m_rowsPrompt, m_bytes;
};

}  // namespace

const PolicySpec* policyToldOfFuture(const Manifest& manifest) {
  const auto told = [](const PolicySpec& one) { return findPolicy(one.name) && (needsOf(one) & kFuture) != 0; };
  for (const LayerOverride& one : manifest.layers)
    if (one.policy && told(*one.policy)) return &*one.policy;
  return told(manifest.policy) ? &manifest.policy : nullptr;
}

std::vector<std::vector<TokenId>> promptsOf(const SweepStory& story, Ask ask) {
  if (ask == Ask::After) return {story.tokens};
  std::vector<std::vector<TokenId>> out;
  for (const SweepQuestion& question : story.questions) out.push_back(joined(story.tokens, question.tokens));
  return out;
}

Result<std::vector<StoryTrace>> runReference(const Session& host, const Manifest& manifest, const CellWork& work) {
  std::vector<StoryTrace> out;
  for (const SweepStory& story : work.stories) {
    StoryRun run(host, manifest, story, work);
    StoryTrace& trace = out.emplace_back();
    for (const SweepQuestion& question : story.questions) {
      if (!report(work.progress, "reference", static_cast<std::int64_t>(out.size()),
                  static_cast<std::int64_t>(work.stories.size())))
        return cancelled();
      QuestionTrace& one = trace.questions.emplace_back();
      const auto prompt = [&](Session& session) {
        trace.bytes += liveBytes(session) / static_cast<double>(story.questions.size());
      };
      const auto token = [&](Session& session, const CacheState*, std::size_t position, std::vector<float> logits) {
        if (work.kl) one.logits.push_back(std::move(logits));
        if (position > 0) keepAttention(session, one);
        return ok();
      };
      std::unique_ptr<Session> session = KV_TRY(run.ready(question));
      if (!work.kl && !work.attention && !work.future) {
        prompt(*session);
        continue;
      }
      keepAttention(*session);
      KV_TRY(runQuestion(std::move(session), fed(question, work.ask), prompt, token));
    }
  }
  return out;
}

Status runCell(const Session& host, const Manifest& manifest, const CellWork& work,
               const std::vector<StoryTrace>& reference, SweepRow& row) {
  Tally tally(work, row);
  CellSamples bytes;
  std::int64_t now = 0;
  const auto goesOn = [&]() -> Status {
    const bool on = report(work.progress, "story", now, static_cast<std::int64_t>(work.stories.size()));
    return on ? ok() : Status(cancelled());
  };
  for (std::size_t s = 0; s < work.stories.size(); ++s) {
    now = static_cast<std::int64_t>(s);
    StoryRun run(host, manifest, work.stories[s], work, work.future ? futureOf(reference[s]) : nullptr);
    tally.beginStory();
    for (std::size_t q = 0; q < work.stories[s].questions.size(); ++q) {
      KV_TRY(goesOn());
      const SweepQuestion& question = work.stories[s].questions[q];
      const QuestionTrace& trace = reference[s].questions[q];
      const auto prompt = [&](Session& session) { tally.prompt(session, question); };
      const auto token = [&](Session& session, const CacheState* before, std::size_t position,
                             std::vector<float> logits) -> Status {
        if (work.answers && !question.answers.empty() && position == beforeReply(question, work.ask)) {
          const std::vector<TokenId> ids = KV_TRY(greedyReply(session, logits, question.newTokens, goesOn));
          tally.answer(session, question, s, q, ids);
        }
        tally.token(session, question, trace, position, logits);
        return tally.expressions(session, before);
      };
      std::unique_ptr<Session> session = KV_TRY(run.ready(question));
      session->transformer().setRunner(work.runner);
      if (!work.expressions.empty()) keepAttention(*session);
      KV_TRY(runQuestion(std::move(session), fed(question, work.ask), prompt, token));
      bytes.add(reference[s].bytes);
    }
  }
  tally.finish();
  if (work.bytes) bytes.into(row, "bytes_reference");
  if (!work.recall) {
    row.byStory.clear();
    row.byDistance.clear();
  }
  return ok();
}

}  // namespace kvlab
