// SPDX-License-Identifier: Apache-2.0
#include "core/session/knock_out.h"

#include <algorithm>
#include <cmath>

#include "core/analysis/metrics.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

Error nothingToCompare(const char* why) {
  return Error("empty", "the rows were not knocked out", why, "knock out fewer rows");
}

/// The rows leave every cache layer that has them.
std::vector<Action> evictions(const Session& session, std::span<const LedgerId> rows) {
  std::vector<Action> out;
  for (const CacheLayer layer : session.state().layers()) {
    const ResidencyView& map = session.state().map(layer);
    Evict one{session.cacheLayers().layerOf(layer), session.cacheLayers().headOf(layer), {}};
    for (std::size_t i = at(map.first); i < map.size(); ++i)
      if (std::ranges::find(rows, map.ledger[i]) != rows.end()) one.ledger.push_back(map.ledger[i]);
    if (!one.ledger.empty()) out.emplace_back(std::move(one));
  }
  return out;
}

std::vector<Action> deletions(const std::vector<Position>& places) {
  std::vector<Action> out;
  for (const Position place : places) out.emplace_back(Delete{place});
  return out;
}

/// ln of the sum of all exp(logit).
double logSum(std::span<const float> logits) {
  const double most = double{*std::ranges::max_element(logits)};
  double sum = 0;
  for (const float one : logits) sum += std::exp(double{one} - most);
  return most + std::log(sum);
}

Result<std::vector<Position>> placesOf(const Session& session, std::span<const LedgerId> rows) {
  const Column<LedgerId>& context = session.state().context;
  std::vector<Position> places;
  for (const LedgerId row : rows) {
    const auto found = std::find(context.begin(), context.end(), row);
    if (found == context.end())
      return Error("out_of_range", "the rows were not knocked out",
                   "row " + std::to_string(row.value()) + " is not in the context", "name rows of the context",
                   "ledger", row.value());
    places.emplace_back(static_cast<Position::rep>(found - context.begin()));
  }
  return places;
}

/// Logits of the next token without the rows.
Result<std::vector<float>> logitsWithout(const Session& session, std::span<const LedgerId> rows, KnockOutBy by) {
  const std::vector<Position> places = KV_TRY(placesOf(session, rows));
  const std::unique_ptr<Session> fork = KV_TRY(session.fork(&session));
  clearPending(*fork);
  const std::vector<Action> actions = by == KnockOutBy::Eviction ? evictions(*fork, rows) : deletions(places);
  if (!actions.empty()) {
    KV_TRY(inject(*fork, actions));
    const TickReport report = apply(*fork);
    if (report.error) return *report.error;
  }
  if (by == KnockOutBy::Rebuild) KV_TRY(fork->rebuild());
  KV_TRY(refreshLogits(*fork));
  if (!fork->state().logits) return nothingToCompare("no token is left without them");
  return *fork->state().logits;
}

/// The likeliest with the rows, and those that become likely without them.
std::vector<TokenId> likeliest(const std::vector<float>& with, const std::vector<float>& without, int tokens) {
  std::vector<TokenId> out;
  for (const std::vector<float>* logits : {&with, &without})
    for (const Candidate& one : topCandidates(*logits, tokens))
      if (std::ranges::find(out, one.id) == out.end()) out.push_back(one.id);
  return out;
}

}  // namespace

Result<KnockOut> knockOut(Session& session, const KnockOutAsked& asked) {
  KV_TRY(placesOf(session, asked.rows));
  KV_TRY(refreshLogits(session));
  if (!session.state().logits) return nothingToCompare("there is no next token");
  const std::vector<float>& with = *session.state().logits;
  const std::vector<float> without = KV_TRY(logitsWithout(session, asked.rows, asked.by));
  KnockOut out{.rows = asked.rows, .kl = klDivergence(with, without)};
  const double sumWith = logSum(with), sumWithout = logSum(without);
  for (const TokenId id : likeliest(with, without, asked.tokens))
    out.tokens.push_back({id, double{with[at(id)]} - sumWith, double{without[at(id)]} - sumWithout});
  for (std::size_t i = 0; asked.each && i < asked.rows.size(); ++i) {
    if (!report(session.progress(), "hiding rows one by one", static_cast<std::int64_t>(i), std::ssize(asked.rows)))
      return Error("cancelled", "the rows were not knocked out", "somebody stopped it", "measure again");
    const std::span<const LedgerId> one(&asked.rows[i], 1);
    const std::vector<float> alone = asked.rows.size() == 1 ? without : KV_TRY(logitsWithout(session, one, asked.by));
    out.each.push_back({one[0], klDivergence(with, alone), topCandidates(alone, 1).front().id});
  }
  return out;
}

Result<KnockOut> measureKnockOut(Session& session, const KnockOutAsked& asked) {
  KnockOut found = KV_TRY(knockOut(session, asked));
  session.measured().knockOut = asked.rows.empty() ? nullptr : std::make_shared<const KnockOut>(found);
  session.publish();
  return found;
}

}  // namespace kvlab
