// SPDX-License-Identifier: Apache-2.0
// The tick: generate, observe, plan, apply, verify, publish. architecture.md, "The tick".
#include <algorithm>

#include "core/policy/brightness.h"
#include "core/session/session.h"

namespace kvlab {

PlanRules Session::planRules(Source addSource) const {
  return {m_manifest.position, m_manifest.shiftOnOverflow, m_model->config().vocab, m_capacity, m_maxPhases, addSource};
}

TransactionRules Session::transactionRules() const {
  TransactionRules rules;
  rules.executor = m_manifest.executor;
  rules.afterEdit = m_manifest.afterEdit;
  rules.selectiveRatio = m_manifest.selectiveRatio;
  rules.newRows = m_manifest.newRows;
  rules.probes = m_manifest.probes;
  const unsigned looksAt = m_state.policy ? statisticsOf(m_state.policy->specs) : 0;
  const bool all = m_state.tick.value() < m_attentionUntil || (looksAt & (kReceived | kObserved | kNewest));
  if (rules.probes) rules.wanted.newest = all ? InLayers::All : InLayers::Last;
  rules.guards = m_manifest.guards;
  if (looksAt & (kReceived | kObserved)) rules.wanted.receivedPerHead = InLayers::All;
  if (m_state.policy) rules.wanted.gates = m_state.policy->gates.get();
  rules.splice = {m_manifest.position, m_manifest.brightness.start, static_cast<float>(m_manifest.brightness.max)};
  return rules;
}

Status Session::usable() const {
  if (m_status != SessionState::Broken) return ok();
  return Error{"broken", "the session is broken", m_brokenReason, "rebuild, save the ids, or close the session"};
}

TickReport Session::refused(Error error) const {
  TickReport report;
  report.ok = false;
  report.tick = m_state.tick;
  report.error = std::move(error);
  return report;
}

TickReport Session::step(const std::vector<TokenId>& forced) {
  if (Status usableNow = usable(); !usableNow) return refused(usableNow.error());
  if (m_state.length() == 0 && forced.empty() && m_pending.empty())
    return refused({"empty", "there is nothing to continue", "the context is empty",
                    "prompt some text first, or step with given tokens"});
  return runPending(true, forced, Source::Model);
}

/// The pending actions, noted in the command that consumes them so that it can be executed again.
std::vector<Action> Session::takePending() {
  if (!m_pending.empty() && !m_verb.empty()) {
    m_args["pending"] = nlohmann::json::array();
    for (const Action& action : m_pending) m_args["pending"].push_back(toJson(action));
  }
  return std::exchange(m_pending, {});
}

/// A tick with the pending actions, or with the one at `place`. Where nothing was committed they stay.
TickReport Session::runPending(bool generates, const std::vector<TokenId>& forced, Source source,
                               std::optional<std::size_t> place) {
  const std::vector<Action> all = takePending();
  std::vector<Action> now = all, rest;
  if (place) {
    now = {all[*place]};
    rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*place));
  }
  TickReport report = runTick(generates, forced, std::move(now), source, PassKind::Decode);
  m_pending = report.ok || report.token ? rest : all;
  if (!m_pending.empty()) publish();
  return report;
}

TickReport Session::apply() {
  if (Status usableNow = usable(); !usableNow) return refused(usableNow.error());
  if (m_pending.empty())
    return refused({"nothing_pending", "there is nothing to apply", "no action is pending", "inject actions first"});
  return runPending(false, {}, Source::User);
}

TickReport Session::stepAction() {
  if (m_pending.empty()) return step();
  if (Status usableNow = usable(); !usableNow) return refused(usableNow.error());
  // From the highest position down, so that what is left keeps its references.
  Result<EditPlan> planned = plan({});
  if (!planned) return refused(planned.error());
  std::size_t place = m_pending.size() - 1;
  for (auto detail = planned->details.rbegin(); detail != planned->details.rend(); ++detail) {
    place = static_cast<std::size_t>(detail->place);
    if (!std::holds_alternative<Add>(m_pending[place])) break;
  }
  return runPending(false, {}, Source::User, place);
}

TickReport Session::append(const std::vector<TokenId>& tokens, Source source, bool last) {
  if (Status usableNow = usable(); !usableNow) return refused(usableNow.error());
  std::vector<Action> adds;
  for (TokenId token : tokens) adds.push_back(Add{token});
  if (adds.empty())
    return refused({"empty_tokens", "nothing was appended", "the list of tokens is empty", "give at least one token"});
  TickReport report = runTick(false, {}, std::move(adds), source, last ? PassKind::PromptEnd : PassKind::PromptPart);
  if (!report.ok || !last || !focusPays()) return report;
  // A question has come: what it looks at may want detail before it is answered.
  TickReport focused = refocus();
  if (!focused.ok) return focused;
  focused.actions.insert(focused.actions.begin(), report.actions.begin(), report.actions.end());
  focused.events.insert(focused.events.begin(), report.events.begin(), report.events.end());
  return focused;
}

TickReport Session::runTick(bool generates, const std::vector<TokenId>& forced, std::vector<Action> actions,
                            Source addSource, PassKind pass) {
  if (m_commitsLeft == 0)
    return refused({"replayed", "the tick was not run", "the wanted state is reached", "nothing to do"});
  if (kernels::OpLog* log = m_backend->log()) log->take();  // what was asked for between ticks
  Trace trace;
  TickReport report;
  report.tick = Tick(m_state.tick.value() + 1);
  generates = generates && (m_state.length() > 0 || !forced.empty());
  const std::size_t tokens = !generates ? 0
      : forced.empty()                  ? static_cast<std::size_t>(m_manifest.ring.blockTokens)
                                        : forced.size();
  CacheState observed = m_state;
  Block block;
  Status applied = ok();
  if (tokens == 0) {
    report.actions = actions;
    applied = applyPlanned(observed, std::move(actions), addSource, pass, block, trace, report);
  }
  for (std::size_t i = 0; i < tokens && applied; ++i) {
    block.last = i + 1 == tokens;
    if (block.waiting) observed = block.waiting->state;
    applied = runToken(forced.empty() ? std::nullopt : std::optional(forced[i]), std::exchange(actions, {}), addSource,
                       pass, block, observed, trace, report);
  }
  if (!applied) {
    const bool generated = tokens == 0 || !report.block.empty();
    report.ok = false;
    report.error = applied.error();
    if (!generated) return finish(refused(applied.error()), trace);
    if (tokens > 1) report.token.reset();
    recover(observed, report.token, !forced.empty(), trace, report);
    if (!report.token) report.block.clear();
  }
  if (m_status != SessionState::Broken) verify(trace, report);
  return finish(std::move(report), trace);
}

/// One token of a tick: generated, observed, and computed with the actions that go with it.
Status Session::runToken(std::optional<TokenId> forced, std::vector<Action> actions, Source addSource, PassKind pass,
                         Block& block, CacheState& observed, Trace& trace, TickReport& report) {
  Result<TokenId> token = generate(forced, observed, trace);
  if (!token) {
    reject(block);
    return token.error();
  }
  report.token = *token;
  report.block.push_back(*token);
  if (m_manifest.probes && observed.length() > 0) {
    auto scope = trace.scope("observe");
    observed.brightness = observedBrightness(observed, m_manifest.brightness);
  }
  if (!block.waiting)
    for (Action& action : cullActions(observed, actions)) actions.push_back(std::move(action));
  actions.push_back(Add{*token});
  report.actions.insert(report.actions.end(), actions.begin(), actions.end());
  return applyPlanned(observed, std::move(actions), addSource, pass, block, trace, report);
}

/// Tokens that wait for a commit that will not come: nothing of them is left.
void Session::reject(Block& block) {
  if (!block.waiting) return;
  if (block.waiting->rewritten) mend();
  else m_store.release(block.waiting->added);
  block.waiting.reset();
}

Result<TokenId> Session::generate(std::optional<TokenId> forced, CacheState& observed, Trace& trace) {
  auto scope = trace.scope("generate");
  if (observed.logitsStale) {
    Transaction transaction(m_transformer.get(), m_store, m_layouts, m_faults);
    m_timeline.makeRoom(m_store, 1, m_manifest.historyBytes);
    Result<CacheState> fresh = transaction.query(observed, transactionRules(), trace);
    if (!fresh) return fresh.error();
    observed = fresh.take();
  }
  if (forced) {
    if (forced->value() < 0 || forced->value() >= m_model->config().vocab)
      return Error{"bad_token",
                   "the step was refused",
                   "token " + std::to_string(forced->value()) + " is outside the vocabulary of " +
                       std::to_string(m_model->config().vocab),
                   "give a token of the vocabulary",
                   std::nullopt,
                   "tokens",
                   forced->value()};
    return *forced;
  }
  if (!observed.logits)
    return Error{"empty", "there is nothing to continue", "the context is empty", "prompt some text first"};
  std::vector<TokenId> history;
  if (m_manifest.sampling.repetitionPenalty != 1) {
    for (LedgerId id : observed.context) history.push_back(observed.ledger[id].token);
    std::sort(history.begin(), history.end());
    history.erase(std::unique(history.begin(), history.end()), history.end());
  }
  m_sampler->restore({observed.random[0], observed.random[1]});
  const Result<TokenId> token = m_sampler->sample(*observed.logits, history);
  if (token) observed.random = {m_sampler->state().seed, m_sampler->state().counter};
  return token;
}

Result<TokenId> Session::peek() {
  if (Status usableNow = usable(); !usableNow) return usableNow.error();
  Trace trace;
  if (Status fresh = refreshLogits(trace); !fresh) return fresh.error();
  CacheState looked = m_state;
  return generate({}, looked, trace);
}

/// The dimmest pairs, where culling is on; the user's own actions win over them.
std::vector<Action> Session::cullActions(const CacheState& observed, const std::vector<Action>& pending) {
  const BrightnessSettings& b = m_manifest.brightness;
  std::vector<Action> out;
  if (b.compressor != "nearest" || !m_manifest.probes) return out;
  const int count = cullCount(observed.length(), b.target);
  if (count == 0) return out;
  std::vector<bool> taken(observed.context.size(), false);
  if (Result<EditPlan> users = planEdit(observed, planRules(Source::User), pending)) {
    for (Position p : users->removed) taken[static_cast<std::size_t>(p.value())] = true;
    // An insert must not end up inside a removed run.
    for (const PlannedAction& detail : users->details)
      for (std::int32_t p = detail.anchor.value() - 1; p <= detail.anchor.value(); ++p)
        if (p >= 0 && p < observed.length()) taken[static_cast<std::size_t>(p)] = true;
    for (const PlannedEviction& eviction : users->evictions)
      for (LedgerId id : eviction.ledger)
        taken[static_cast<std::size_t>(std::find(observed.context.begin(), observed.context.end(), id) -
                                       observed.context.begin())] = true;
  }
  const auto isTaken = [&](Position p) { return static_cast<bool>(taken[static_cast<std::size_t>(p.value())]); };
  for (Position p : dimmestPairs(observed, count, isTaken)) {
    const auto i = static_cast<std::size_t>(p.value());
    const TokenId a = observed.ledger[observed.context[i]].token, c = observed.ledger[observed.context[i + 1]].token;
    const std::optional<TokenId> replacement =
        m_compressor->replacement(a, observed.brightness[i], c, observed.brightness[i + 1], b.minCosine);
    if (replacement) out.push_back(ReplacePair{p, Position(p.value() + 1), {*replacement}});
  }
  return out;
}

Status Session::applyPlanned(const CacheState& observed, std::vector<Action> actions, Source addSource, PassKind pass,
                             Block& block, Trace& trace, TickReport& report) {
  if (observed.wlod) return applyWlod(observed, std::move(actions), addSource, pass, trace, report);
  Result<EditPlan> plan = [&] {
    auto scope = trace.scope("plan");
    return planEdit(observed, planRules(addSource), std::move(actions));
  }();
  if (!plan) {
    reject(block);
    return plan.error();
  }
  if (!plan->phases.empty() && plan->phases.back() >= m_maxPhases) {
    reject(block);
    return Error{
        "no_phase_room", "the edit was refused",
        "phase " + std::to_string(plan->phases.back()) + " is above the last one, " + std::to_string(m_maxPhases - 1),
        "rebuild in position mode context, or raise capacity"};
  }
  auto scope =
      trace.scope("apply", std::to_string(plan->rows.size()) + (plan->rows.size() == 1 ? " new row" : " new rows"));
  const bool all = m_manifest.afterEdit != AfterEdit::Keep;
  const std::int32_t more = block.last ? 0 : m_manifest.ring.blockTokens - 1;  // of the same block
  const auto need = static_cast<std::int32_t>(plan->rows.size()) + (all ? plan->stale : 0) + more;
  if (!block.waiting) m_timeline.makeRoom(m_store, need, m_manifest.historyBytes);
  TransactionRules rules = transactionRules();
  const bool prunes = block.last && observed.policy;
  if (rules.probes && pass != PassKind::Decode)
    rules.wanted = rules.wanted | Wanted{.newest = InLayers::All, .received = InLayers::All};
  rules.pending = !block.last || prunes;
  rules.keepLogits = plan->empty();
  Transaction transaction(m_transformer.get(), m_store, m_layouts, m_faults);
  Result<Applied> applied =
      transaction.run(observed, *plan, rules, trace, m_progress, block.waiting ? &*block.waiting : nullptr);
  if (applied && prunes) applied = applyPolicies(applied.take(), pass, transaction, trace, report);
  else if (applied && rules.pending) {
    block.waiting = applied.take();
    return ok();
  }
  if (applied) {
    commit(std::move(applied->state), std::move(applied->added), std::move(applied->freed), applied->bytesMoved);
    if (applied->rewritten) m_timeline.dropAll(m_store, !m_layouts.inPlace());
    return ok();
  }
  if (transaction.poolsTouched()) mend();
  report.actions = plan->actions;
  return applied.error();
}

/// A commit got part of the way: the slots are again those of the present state, their rows anew. What
/// history kept of earlier rows is free now, too.
void Session::mend() {
  m_timeline.dropAll(m_store, false);
  m_layouts.restart(m_store, m_state);
  beginCommand("rebuild", nlohmann::json::object());  // what history will execute in its place
  if (Result<RebuildOutcome> mended = rebuildRows(); !mended) breakSession(mended.error().text());
}

/// A tick that failed while it was carried out retries its adds once, so that generation goes on. The
/// retry is recorded as the step that it amounts to.
void Session::recover(const CacheState& observed, std::optional<TokenId> token, bool forced, Trace& trace,
                      TickReport& report) {
  const bool planned = report.error && report.error->code != "fault" && report.error->code != "out_of_memory";
  if (planned || !token || m_status == SessionState::Broken) {
    report.token.reset();
    return;
  }
  auto scope = trace.scope("retry_adds");
  CacheState base = observed;
  const bool rebuilt = m_state.tick != observed.tick;  // an in-place layout was mended: observe anew
  Status again = rebuilt ? reobserve(*token, base, trace) : ok();
  nlohmann::json args = nlohmann::json::object();
  if (forced || rebuilt) args["tokens"] = {token->value()};
  beginCommand("step", std::move(args));
  TickReport retry;
  Block alone;
  if (again) again = applyPlanned(base, {Add{*token}}, Source::Model, PassKind::Decode, alone, trace, retry);
  if (!again) {
    report.token.reset();
    breakSession(report.error->text() + "; adding the token alone failed too: " + again.error().text());
  }
}

/// What a step with a given token starts from, over the present rows.
Status Session::reobserve(TokenId token, CacheState& base, Trace& trace) {
  base = m_state;
  if (Result<TokenId> given = generate(token, base, trace); !given) return given.error();
  if (m_manifest.probes) base.brightness = observedBrightness(base, m_manifest.brightness);
  return ok();
}

void Session::breakSession(const std::string& reason) {
  m_status = SessionState::Broken;
  m_brokenReason = reason;
}

void Session::commit(CacheState state, LayerSlots added, LayerSlots freed, std::int64_t moved) {
  m_bytesMoved = moved;
  record(std::move(state), std::move(added), std::move(freed));
}

void Session::verify(Trace& trace, TickReport& report) {
  if (m_manifest.check == CheckLevel::Off) return;
  auto scope = trace.scope("verify");
  // What is broken is checked in full until it holds: a slice without a finding proves nothing.
  const auto broken = [](const InvariantState& one) { return !one.ok; };
  const bool full =
      m_manifest.check == CheckLevel::Full || std::any_of(m_invariants.begin(), m_invariants.end(), broken);
  report.violations = runChecks(full, m_checks++ % m_manifest.scrubPeriod);
}

TickReport Session::finish(TickReport report, Trace& trace) {
  report.tick = m_state.tick;
  for (const TokenId token : report.block) report.text += m_model->tokenizer().tokenText(token);
  if (kernels::OpLog* log = m_backend->log()) trace.addOps(log->take());
  report.events = trace.take();
  m_report = std::make_shared<const TickReport>(report);
  if (report.tick == m_timeline.current().tick) m_timeline.setReport(m_report);
  publish();
  return report;
}

std::vector<TickReport> Session::run(int maxTicks, std::string& stoppedBy) {
  std::vector<TickReport> reports;
  const std::vector<TokenId> eos = m_model->tokenizer().eos();
  stoppedBy = "max_ticks";
  for (int i = 0; i < maxTicks; ++i) {
    if (!kvlab::report(m_progress, "running", i, maxTicks)) {
      stoppedBy = "cancelled";
      break;
    }
    const CacheState before = m_state;
    reports.push_back(step());
    const TickReport& last = reports.back();
    double kl = 0;
    if (m_breakpoints.needsKl())
      if (Result<Drift> measured = measureDrift()) kl = measured->kl;
    if (const std::string hit = m_breakpoints.hit(last, before, m_state, kl); !hit.empty()) {
      stoppedBy = hit;
      break;
    }
    if (!last.ok) stoppedBy = "error";
    else if (last.token && std::find(eos.begin(), eos.end(), *last.token) != eos.end()) stoppedBy = "end_of_text";
    else continue;
    break;
  }
  return reports;
}

}  // namespace kvlab
