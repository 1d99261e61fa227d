// SPDX-License-Identifier: Apache-2.0
#include "core/session/ticker.h"

#include <algorithm>
#include <utility>

#include "core/model/decoder/sampler.h"
#include "core/policy/brightness.h"

namespace kvlab {
namespace {

Status checkToken(TokenId token, std::int32_t vocab) {
  if (token.value() >= 0 && token.value() < vocab) return ok();
  return Error("bad_token", "the step was refused",
               "token " + std::to_string(token.value()) + " is outside the vocabulary of " + std::to_string(vocab),
               "give a token of the vocabulary", "tokens", token.value());
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
  rules.wanted.surprise =
      m_wish.scores && !state.kind->derivesContext();  // whose rows do not stand in the order of the text
  return rules;
}

void Ticker::begin(const CacheState& state, TickWish wish) {
  m_observed = state;
  m_applied.reset();
  const bool generates = wish.generates && (state.length() > 0 || !wish.forced.empty());
  const auto block = static_cast<std::size_t>(m_call.parts.manifest.ring.blockTokens);
  m_tokens = !generates ? 0 : wish.forced.empty() ? block : wish.forced.size();
  m_wish = std::move(wish);
  m_place = 0;
  m_done = false;
  m_begun = m_tokens == 0;
  m_next = m_tokens == 0 ? Stage::Plan : Stage::Generate;
}

Result<Stage> Ticker::next(TickReport& report) {
  const Stage stage = m_next;
  if (stage == Stage::Generate) {
    KV_TRY(choose(report));
    m_next = Stage::Observe;
  } else if (stage == Stage::Observe) {
    observe(m_observed);
    m_next = Stage::Plan;
  } else if (stage == Stage::Plan) {
    KV_TRY(plan(report));
    m_next = prunes() ? Stage::Prune : Stage::Apply;
  } else if (stage == Stage::Prune) {
    KV_TRY(compute(report));
    m_next = Stage::Apply;
  } else {
    KV_TRY(apply(report));
    if (!m_done) return Stage::Token;
  }
  return stage;
}

/// Generates one token of the tick, or takes the given one.
Status Ticker::choose(TickReport& report) {
  m_token = KV_TRY(generate(m_wish.forced.empty() ? std::nullopt : std::optional(m_wish.forced[m_place]), m_observed));
  m_begun = true;
  report.token = m_token;
  report.block.push_back(m_token);
  return ok();
}

Commit Ticker::take() {
  Commit out(std::move(*m_applied));
  m_applied.reset();
  return out;
}

bool Ticker::followed(const CacheState& state) const {
  return std::any_of(m_revisers.begin(), m_revisers.end(), [&](const auto& one) { return one->follows(state); });
}

/// Makes the list of one token's part of the tick complete. Only the first token of a block takes the wished actions.
Status Ticker::plan(TickReport& report) {
  m_part = {};
  m_part.actions = std::exchange(m_wish.actions, {});
  m_part.adds = m_wish.adds;
  m_part.pass = m_wish.pass;
  m_part.draft = m_wish.draft;
  m_part.looks = m_wish.looks;
  if (m_tokens > 0) {
    m_part.generates = true;
    m_part.actions.push_back(Add{m_token});
    m_part.settles = m_place + 1 == m_tokens;
    m_part.more = static_cast<std::int32_t>(m_tokens - 1 - m_place);
  }
  m_last = m_part.settles;
  m_revised = m_observed;
  m_part.rules = rules(m_revised);
  m_part.earlier = m_applied ? &*m_applied : nullptr;
  for (const auto& reviser : m_revisers) KV_TRY(reviser->before(m_revised, m_part, m_call));
  report.actions.insert(report.actions.end(), m_part.actions.begin(), m_part.actions.end());
  if (!m_part.culling.empty()) report.culling = std::exchange(m_part.culling, {});
  return ok();
}

/// The pass, and what revisers decide about its rows.
Status Ticker::compute(TickReport& report) {
  m_part.settles = m_last && !prunes();
  Result<Applied> applied = m_call.parts.kind->apply(m_revised, m_part, m_call);
  if (!applied && !m_part.actions.empty()) report.actions = m_part.actions;
  m_applied.reset();
  for (const auto& reviser : m_revisers)
    if (applied && m_last && reviser->follows(m_revised))
      applied = reviser->decide(applied.take(), m_part, m_call, report.actions);
  if (!applied) return applied.error();
  m_applied = applied.take();
  return ok();
}

Status Ticker::carryOut() {
  Result<Applied> applied(std::move(*m_applied));
  m_applied.reset();
  for (const auto& reviser : m_revisers)
    if (applied && reviser->follows(m_revised)) applied = reviser->after(applied.take(), m_part, m_call);
  if (!applied) return applied.error();
  m_applied = applied.take();
  return ok();
}

Status Ticker::apply(TickReport& report) {
  KV_TRY(prunes() ? carryOut() : compute(report));
  noteSurprise();
  m_done = m_last;
  if (m_last) return ok();
  ++m_place;
  m_observed = m_applied->state;
  m_next = Stage::Generate;
  return ok();
}

/// Notes the surprise of the first token that the part has added. A pass gives that of later tokens (Wanted::surprise).
void Ticker::noteSurprise() {
  if (!m_wish.scores || !m_observed.logits || m_observed.logitsStale) return;
  Ledger& ledger = m_applied->state.ledger;
  for (LedgerId id = m_revised.ledger.nextId(); id < ledger.nextId(); id = LedgerId(id.value() + 1)) {
    if (ledger[id].kind != RowKind::Token || ledger[id].source != m_part.adds) continue;
    ledger.change(id).surprise = static_cast<float>(negativeLogLikelihood(*m_observed.logits, ledger[id].token));
    return;
  }
}

Result<TokenId> Ticker::generate(std::optional<TokenId> forced, CacheState& state) {
  auto scope = m_call.trace.scope("generate");
  if (state.logitsStale) {
    m_call.makeRoom(1, Placing::Look);
    state = KV_TRY(m_call.parts.kind->query(state, rules(state), m_call));
  }
  if (forced) {
    KV_TRY(checkToken(*forced, m_call.parts.model->config().vocab));
    m_call.parts.store.deeds().draw({.given = true});
    return *forced;
  }
  if (!state.logits)
    return Error("empty", "there is nothing to continue", "the context is empty", "prompt some text first");
  std::vector<TokenId> seen;
  if (m_call.parts.manifest.sampling.repetitionPenalty != 1) seen = tokensIn(state);
  Sampler& sampler = *m_call.parts.sampler;
  sampler.restore({state.random[0], state.random[1]});
  const TokenId token = KV_TRY(sampler.sample(*state.logits, seen));
  state.random = {sampler.state().seed, sampler.state().counter};
  m_call.parts.store.deeds().draw({.given = false, .logits = state.logits});
  return token;
}

void Ticker::observe(CacheState& state) {
  if (!m_call.parts.manifest.probes || state.length() == 0) return;
  auto scope = m_call.trace.scope("observe");
  state.brightness = observedBrightness(state, m_call.parts.manifest.brightness);
}

}  // namespace kvlab
