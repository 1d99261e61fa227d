// SPDX-License-Identifier: Apache-2.0
#include "core/session/ticker.h"

#include <algorithm>

#include "core/policy/brightness.h"

namespace kvlab {
namespace {

Status checkToken(TokenId token, std::int32_t vocab) {
  if (token.value() >= 0 && token.value() < vocab) return ok();
  return Error{"bad_token",
               "the step was refused",
               "token " + std::to_string(token.value()) + " is outside the vocabulary of " + std::to_string(vocab),
               "give a token of the vocabulary",
               std::nullopt,
               "tokens",
               token.value()};
}

/// Distinct tokens of the context, for the repetition penalty.
std::vector<TokenId> tokensIn(const CacheState& state) {
  std::vector<TokenId> out;
  for (LedgerId id : state.context) out.push_back(state.ledger[id].token);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

TransactionRules Ticker::rules(const CacheState& state) const {
  TransactionRules rules = transactionRules(m_call.parts);
  if (rules.probes) rules.wanted.newest = m_allAttention ? InLayers::All : InLayers::Last;
  for (const auto& reviser : m_revisers) rules.wanted = rules.wanted | reviser->wants(state);
  return rules;
}

Result<Commit> Ticker::run(const CacheState& state, TickWish wish, TickReport& report) {
  m_observed = state;
  m_applied.reset();
  const bool generates = wish.generates && (state.length() > 0 || !wish.forced.empty());
  const auto block = static_cast<std::size_t>(m_call.parts.manifest.ring.blockTokens);
  const std::size_t tokens = !generates ? 0 : wish.forced.empty() ? block : wish.forced.size();
  m_tokens = tokens;
  TickPart part;
  part.actions = std::move(wish.actions);
  part.adds = wish.adds;
  part.pass = wish.pass;
  part.draft = wish.draft;
  Status done = ok();
  if (tokens == 0) {
    m_begun = true;
    done = apply(std::move(part), report);
  }
  for (std::size_t i = 0; i < tokens && done; ++i) {
    TickPart one = part;
    part.actions.clear();  // only the first token of a block takes the actions
    one.settles = i + 1 == tokens;
    one.more = static_cast<std::int32_t>(tokens - 1 - i);
    if (m_applied) m_observed = m_applied->state;
    done = runToken(wish.forced.empty() ? std::nullopt : std::optional(wish.forced[i]), std::move(one), report);
  }
  if (!done) return done.error();
  return Commit(std::move(*m_applied));
}

/// Generates, observes and computes one token of a tick, with its actions.
Status Ticker::runToken(std::optional<TokenId> forced, TickPart part, TickReport& report) {
  const Result<TokenId> token = observe(forced, m_observed);
  if (!token) return giveUp(token.error());
  m_begun = true;
  report.token = *token;
  report.block.push_back(*token);
  part.generates = true;
  part.actions.push_back(Add{*token});
  return apply(std::move(part), report);
}

/// Discards the waiting tokens of a block that will not be committed.
Error Ticker::giveUp(Error error) {
  if (!m_applied) return error;
  m_call.poolsTouched = m_applied->rewritten;
  if (!m_applied->rewritten) m_call.parts.store.release(m_applied->added);
  m_applied.reset();
  return error;
}

bool Ticker::followed(const CacheState& state) const {
  return std::any_of(m_revisers.begin(), m_revisers.end(), [&](const auto& one) { return one->follows(state); });
}

Status Ticker::apply(TickPart part, TickReport& report) {
  CacheState observed = m_observed;  // revisers write their statistics here
  part.rules = rules(observed);
  part.earlier = m_applied ? &*m_applied : nullptr;
  for (const auto& reviser : m_revisers)
    if (Status revised = reviser->before(observed, part, m_call); !revised) return giveUp(revised.error());
  report.actions.insert(report.actions.end(), part.actions.begin(), part.actions.end());
  const bool last = part.settles;
  part.settles = last && !followed(observed);
  Result<Applied> applied = m_call.parts.kind->apply(observed, part, m_call);
  if (!applied && !part.actions.empty()) report.actions = part.actions;
  m_applied.reset();
  for (const auto& reviser : m_revisers)
    if (applied && last && reviser->follows(observed))
      applied = reviser->after(applied.take(), part, m_call, report.actions);
  if (!applied) return applied.error();
  m_applied = applied.take();
  return ok();
}

Result<TokenId> Ticker::generate(std::optional<TokenId> forced, CacheState& state) {
  auto scope = m_call.trace.scope("generate");
  if (state.logitsStale) {
    m_call.makeRoom(1);
    Result<CacheState> fresh = m_call.transaction().query(state, rules(state), m_call.trace);
    if (!fresh) return fresh.error();
    state = fresh.take();
  }
  if (forced) {
    if (Status known = checkToken(*forced, m_call.parts.model->config().vocab); !known) return known.error();
    return *forced;
  }
  if (!state.logits)
    return Error{"empty", "there is nothing to continue", "the context is empty", "prompt some text first"};
  std::vector<TokenId> seen;
  if (m_call.parts.manifest.sampling.repetitionPenalty != 1) seen = tokensIn(state);
  Sampler& sampler = *m_call.parts.sampler;
  sampler.restore({state.random[0], state.random[1]});
  const Result<TokenId> token = sampler.sample(*state.logits, seen);
  if (token) state.random = {sampler.state().seed, sampler.state().counter};
  return token;
}

Result<TokenId> Ticker::observe(std::optional<TokenId> forced, CacheState& state) {
  const Result<TokenId> token = generate(forced, state);
  if (!token || !m_call.parts.manifest.probes || state.length() == 0) return token;
  auto scope = m_call.trace.scope("observe");
  state.brightness = observedBrightness(state, m_call.parts.manifest.brightness);
  return token;
}

}  // namespace kvlab
