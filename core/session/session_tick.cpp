// SPDX-License-Identifier: Apache-2.0
// Runs a tick: takes pending actions, stays open between two stages, recovers from failures, verifies the commit and
// publishes it.
#include <algorithm>
#include <optional>

#include "core/api/guarded.h"
#include "core/edit/planner.h"
#include "core/edit/splice.h"
#include "core/session/call_mark.h"
#include "core/session/storage.h"

namespace kvlab {
namespace {

/// Rows that a tick may add, and those that it may compute anew beside the old ones.
std::int32_t rowsAsked(const TickWish& wish, const Manifest& manifest, const CacheState& state) {
  std::size_t rows = wish.generates ? std::max(wish.forced.size(), at(manifest.ring.blockTokens)) : 0;
  bool appends = true;
  for (const Action& action : wish.actions) {
    rows += newTokens(action);
    appends = appends && std::holds_alternative<Add>(action);
  }
  const bool culls = wish.generates && manifest.brightness.compressor != "off";  // edits that are not known yet
  if (culls) rows += at(state.length());
  if ((!appends || culls) && manifest.afterEdit != AfterEdit::Keep) rows += at(state.length());
  return static_cast<std::int32_t>(rows);
}

/// A pass was refused because of damage: its error names the findings of the checks, and the ticks between which the
/// damage came.
void tellDamage(std::vector<Violation> found, TickReport& report) {
  report.violations = std::move(found);
  for (const Violation& one : report.violations)
    if (one.since) {
      report.error->why += "; " + one.invariant + " broke " + intervalText(*one.since);
      return;
    }
}

/// The last pass says what became of the values that the tick converted.
void tellConversions(TickReport& report) {
  const Conversions all = together(report.conversions);
  const auto pass = std::ranges::find(report.events.rbegin(), report.events.rend(), "compute_rows", &Event::name);
  if (all.values > 0 && pass != report.events.rend()) pass->detail += "; " + conversionsText(all);
}

void begin(OpenTick& tick, const Session& session, TickWish wish, std::vector<Action> rest) {
  tick.rest = std::move(rest);
  tick.report.tick = Tick(session.state().tick.value() + 1);
  tick.wish = wish;
  tick.ticker.begin(session.state(), std::move(wish));
}

std::vector<LedgerId> contextWith(const Column<LedgerId>& before, std::vector<PlannedAction> edits) {
  std::stable_sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.anchor < b.anchor; });
  std::vector<bool> removed(before.size());
  for (const PlannedAction& edit : edits)
    for (const Position position : edit.removed) removed[at(position.value())] = true;
  std::vector<LedgerId> out;
  auto edit = edits.begin();
  for (std::size_t i = 0; i <= before.size(); ++i) {
    for (; edit != edits.end() && (at(edit->anchor.value()) <= i || i == before.size()); ++edit)
      out.insert(out.end(), edit->newLedger.begin(), edit->newLedger.end());
    if (i < before.size() && !removed[i]) out.push_back(before[i]);
  }
  return out;
}

std::string_view nextOf(const OpenTick& tick) {
  switch (tick.stage) {
    case Stage::Generate: return name(Stage::Observe);
    case Stage::Observe: return name(Stage::Plan);
    case Stage::Token: return name(Stage::Generate);
    case Stage::Prune: return name(Stage::Apply);
    case Stage::Apply: return "verify";
    case Stage::Plan:
    case Stage::OneAction: break;
  }
  if (tick.shown + 1 < static_cast<std::int32_t>(tick.edits.size())) return name(Stage::OneAction);
  if (tick.ticker.prunes()) return name(Stage::Prune);
  return name(tick.ticker.settles() ? Stage::Apply : Stage::Token);
}

/// The edits of a plan in the order in which the executor carries them out.
std::vector<PlannedAction> editsOf(EditPlan plan, Executor executor) {
  if (executor == Executor::Descending) std::reverse(plan.details.begin(), plan.details.end() - plan.adds);
  return std::move(plan.details);
}

/// The state with the rows of a plan, before they are computed: none of them has a slot. None with a kind that derives
/// its context, where rows stand by the ends of their nodes.
std::optional<CacheState> previewOf(const EditPlan& plan, const CacheState& before, const SessionParts& parts) {
  if (before.kind->derivesContext()) return std::nullopt;
  const LayerSlots none(before.groupOf.size(), std::vector<Slot>(plan.rows.size(), Slot(-1)));
  CacheState out = splice(before, plan, none, transactionRules(parts).splice).state;
  for (LayerGroup& group : out.groups) group.provenance.append(std::vector<Provenance>(plan.rows.size()));
  return out;
}

/// View of the tick for readers. state: the session's.
StageView viewOf(const OpenTick& tick, const CacheState& state) {
  StageView out;
  out.stage = tick.stage;
  out.next = nextOf(tick);
  out.tokens = tick.report.block;
  out.actions = tick.report.actions;
  const bool planned = tick.stage == Stage::Plan || tick.stage == Stage::OneAction;
  out.shown = planned ? tick.shown : 0;
  out.of = planned ? static_cast<std::int32_t>(tick.edits.size()) : 0;
  const CacheState* waiting = tick.ticker.waiting();
  const CacheState& base = tick.committed ? state : waiting ? *waiting : tick.ticker.observed();
  out.context = contextWith(base.context, {tick.edits.begin(), tick.edits.begin() + out.shown});
  return out;
}

}  // namespace

TickReport Session::refused(Error error) const {
  TickReport report;
  report.ok = false;
  report.tick = state().tick;
  report.error = std::move(error);
  return report;
}

/// Takes all pending actions, or only the one at `place`, and records them with the command so that it can be executed
/// again. `rest` receives the actions that stay pending.
std::vector<Action> Session::takePending(std::optional<std::size_t> place, std::vector<Action>& rest) {
  if (!m_pending.empty() && m_history.inCommand()) {
    nlohmann::json& noted = m_history.args()["pending"] = nlohmann::json::array();
    for (const Action& action : m_pending) noted.push_back(toJson(action));
  }
  if (!place) return m_pending;
  rest = m_pending;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*place));
  return {m_pending[*place]};
}

/// A tick that ends with an exception has changed nothing.
TickReport Session::inTick(const std::function<TickReport()>& makes) {
  CallMark before(*this, CallMark::Of::OneTick);
  const int entry = timeline().currentId();
  const std::vector<std::int32_t> pools = pooledRows(*this);
  TickReport report;
  try {
    report = makes();
  } catch (...) {
    report = refused(before.takenBack("the tick was refused"));
  }
  const bool nothing = !report.ok && !m_open && timeline().currentId() == entry;
  if (nothing && usable() && pooledRows(*this) != pools) resizePools(*this, pools);
  return report;
}

TickReport Session::tick(TickWish wish, const StageStop& stops) {
  if (Status ready = changeable(); !ready) return refused(ready.error());
  return inTick([&] { return begun(std::move(wish), stops); });
}

TickReport Session::begun(TickWish wish, const StageStop& stops) {
  std::vector<Action> rest = m_pending;
  if (wish.pending) {
    rest.clear();
    wish.actions = takePending(wish.place, rest);
  }
  if (m_history.reached())
    return refused({"replayed", "the tick was not run", "the wanted state is reached", "nothing to do"});
  m_history.anchor(m_parts, true);
  beginDeeds();
  if (Status room = growPools(*this, rowsAsked(wish, manifest(), state())); !room) return refused(room.error());
  auto tick =
      std::make_unique<OpenTick>([this](Trace& trace) { return callContext(trace); }, m_revisers, wantsAllAttention());
  begin(*tick, *this, std::move(wish), std::move(rest));
  m_parts.store.takeConversions();  // of other commands
  return goOn(std::move(tick), stops);
}

/// The verb that makes a tick again, and its arguments.
std::string Session::verbOf(const OpenTick& tick) {
  return tick.wish.pass == PassKind::PromptEnd ? "endPrefill" : "step";
}
nlohmann::json Session::againOf(const OpenTick& tick) const {
  nlohmann::json args = nlohmann::json::object();
  for (const TokenId token : tick.wish.forced) args["tokens"].push_back(token.value());
  if (tick.wish.pending)
    for (const Action& action : m_pending) args["pending"].push_back(toJson(action));
  return args;
}

TickReport Session::stepStage(const StageStop& stops) {
  if (m_open) return goOn(std::move(m_open), stops);
  return refused({"no_tick_open", "there is nothing to go on with", "no tick is open", "stepStage begins a tick"});
}

Status Session::cancelTick() {
  if (!m_open) return Error("no_tick_open", "nothing was thrown away", "no tick is open", "stepStage begins a tick");
  if (m_open->committed)
    return Error("tick_committed", "the tick was not thrown away", "its commit is made and only waits to be verified",
                 "finish it with finishTick, then undo");
  m_open.reset();
  undone();
  m_stage = nullptr;
  publish();
  return ok();
}

Status Session::noOpenTick() const {
  if (!m_open) return ok();
  return Error(
      "tick_open", "the call was refused", "a tick is open, after its stage " + std::string(name(m_open->stage)),
      "go on with stepStage or finishTick, or throw the tick away with cancelTick", "stage", name(m_open->stage));
}

const CacheState& Session::withPending() const {
  if (m_open && m_open->preview) return *m_open->preview;
  const CacheState* waiting = m_open ? m_open->ticker.waiting() : nullptr;
  return waiting ? *waiting : state();
}

/// The tick stays open where it is.
void Session::stay(std::unique_ptr<OpenTick> tick) {
  tick->stopped = true;
  takeOps(tick->trace);
  m_stage = std::make_shared<const StageView>(viewOf(*tick, state()));
  m_open = std::move(tick);
  publish();
}

/// Makes the steps of a tick again that was open; they come out the same.
void Session::reopen(Reopening back) {
  auto tick =
      std::make_unique<OpenTick>([this](Trace& trace) { return callContext(trace); }, m_revisers, wantsAllAttention());
  tick->stopped = true;
  begin(*tick, *this, std::move(back.wish), std::move(back.rest));
  m_parts.store.takeConversions();
  while (placeOf(*tick) != back.place)
    if (advance(*tick, true)) return;
  stay(std::move(tick));
}

/// A refused call leaves an open tick as it was.
TickReport Session::goOn(std::unique_ptr<OpenTick> tick, const StageStop& stops) {
  const std::shared_ptr<const StageView> stage = std::exchange(m_stage, nullptr);
  const std::optional<Reopening> since = tick->stopped ? std::optional(reopeningOf(*tick)) : std::nullopt;
  if (kernels::OpLog* log = m_parts.backend->log()) log->take();  // drops the records of others
  try {
    while (!advance(*tick, static_cast<bool>(stops))) {
      if (!stops || !tick->canStop() || !stops(tick->stage, tick->report)) continue;
      TickReport report = tick->report;
      stay(std::move(tick));
      return report;
    }
  } catch (...) {
    if (!since || !since->place.committed) throw;
    m_open = std::move(tick);  // nothing but checks and the report was left to do
    m_stage = stage;
    throw;
  }
  TickReport report = std::move(tick->report);
  if (since && !report.ok && !tick->committed && m_health.status != SessionState::Broken) reopen(*since);
  return report;
}

/// Does what comes next in a tick; true if the tick is over.
bool Session::advance(OpenTick& tick, bool mayStop) {
  if (tick.committed) return close(tick);
  const bool planned = tick.stage == Stage::Plan || tick.stage == Stage::OneAction;
  if (mayStop && planned && tick.shown + 1 < static_cast<std::int32_t>(tick.edits.size())) {
    ++tick.shown;
    tick.stage = Stage::OneAction;
    return false;
  }
  if (tick.stopped && tick.ticker.commitsNext()) m_history.beginCommand(verbOf(tick), againOf(tick));
  const Result<Stage> done = guarded(kCallRefused, [&] { return tick.ticker.next(tick.report); });
  if (!done) return fail(tick, done.error());
  tick.stage = *done;
  tick.shown = 0;
  tick.edits.clear();
  tick.preview.reset();
  if (mayStop && *done == Stage::Plan)
    if (Result<EditPlan> plan = kind().plan(m_parts, tick.ticker.observed(), tick.ticker.planned()); plan) {
      tick.preview = previewOf(*plan, tick.ticker.observed(), m_parts);
      tick.edits = editsOf(plan.take(), manifest().executor);
    }
  if (!tick.ticker.done()) return false;
  Commit made = tick.ticker.take();
  tick.report.left = made.left;
  if (tick.wish.place) followTokens(tick.rest, state().context, made.state.context);
  if (const Status settled = committed(std::move(made)); !settled) return fail(tick, settled.error());
  tick.committed = true;
  m_pending = std::move(tick.rest);
  shrinkPools(*this);
  return false;
}

/// The step of a tick failed.
bool Session::fail(OpenTick& tick, Error error) {
  const bool whole = undone();
  if (!tick.stopped && whole && !tick.compacted && error.code == "staging" && compactPages(*this)) {
    tick.compacted = true;
    tick.report = {};
    tick.report.tick = Tick(state().tick.value() + 1);
    beginLog();
    tick.ticker.begin(state(), tick.wish);
    tick.stage = Stage::Generate;
    return false;
  }
  if (tick.stopped || !tick.ticker.begun()) {
    tick.report = finish(refused(std::move(error)), tick.trace);
    return true;
  }
  tick.report.ok = false;
  tick.report.error = std::move(error);
  recover(tick, whole);
  if (tick.report.token) m_pending = tick.rest;
  return close(tick);
}

/// The last step of a tick that made its commit, or failed.
bool Session::close(OpenTick& tick) {
  if (m_health.status != SessionState::Broken) verify(tick.trace, tick.report);
  tick.report = finish(std::move(tick.report), tick.trace);
  return true;
}

bool Session::wantsTick() {
  return look([&](CallContext& call) {
    const auto wants = [&](const auto& reviser) { return reviser->wantsTick(state(), call); };
    return std::any_of(m_revisers.begin(), m_revisers.end(), wants);
  });
}

/// Brings back the rows that a failed call has overwritten, and frees its slots; false if the log lacks some rows, and
/// then nothing has changed.
bool Session::takenBack() {
  m_parts.store.deeds().clear();
  return m_history.takeBack(m_parts);
}

/// Makes the commit of a call. On error nothing has changed but the pools.
Status Session::committed(Commit made) {
  return guarded(kCallRefused, [&]() -> Status {
    commit(std::move(made));
    return ok();
  });
}

/// Repairs the slots and rows that a failed call took or moved. True if the session is as it was before the call; else
/// rows were lost, and are computed again.
bool Session::undone() {
  if (takenBack()) return true;
  mend();
  return false;
}

void Session::loseRows() {
  m_history.forgetOlder(m_parts, false);
  m_parts.layouts.restart(m_parts.store, state());
  m_parts.store.log().spoil();
}

/// A change failed while rows moved inside a pool: computes the present rows again. A failed travel restores the state
/// where it began.
void Session::mend() {
  if (m_history.replaying()) return;
  loseRows();
  m_history.beginCommand("rebuild", nlohmann::json::object());  // history executes a rebuild instead
  if (Result<RebuildOutcome> mended = rebuild(); !mended) markBroken(mended.error().text());
}

/// Retries a failed tick once as a step without the pending actions, so that generation goes on. If that fails too,
/// nothing was added. A command that is executed again has the same effect as before, or fails. whole: no row was lost.
void Session::recover(OpenTick& tick, bool whole) {
  TickReport& report = tick.report;
  Ticker& ticker = tick.ticker;
  const bool planned = report.error->code != "fault";
  const std::optional<TokenId> token = std::exchange(report.token, std::nullopt);
  report.block.clear();
  const bool final = planned || m_history.executingAgain() || m_health.status == SessionState::Broken;
  if (final || !token || !ticker.single()) return;
  auto scope = tick.trace.scope("retry_adds");
  TickWish wish{.generates = true, .adds = tick.wish.adds, .scores = tick.wish.scores};
  nlohmann::json args = nlohmann::json::object();
  if (!tick.wish.forced.empty() || !whole) {  // rows that a rebuild computed again may tell another token
    wish.forced = {*token};
    args["tokens"] = {token->value()};
  }
  if (wish.scores) m_history.beginCommand("scoreIds", {{"ids", args["tokens"]}, {"each", true}});
  else m_history.beginCommand("step", std::move(args));
  TickReport alone;
  beginLog();
  ticker.begin(state(), std::move(wish));
  while (!ticker.done())
    if (!guarded(kCallRefused, [&] { return ticker.next(alone); })) return (void)undone();
  Commit made = ticker.take();
  report.left = made.left;
  if (!committed(std::move(made))) return (void)undone();
  report.token = alone.token;
  report.block = alone.block;
}

void Session::verify(Trace& trace, TickReport& report) {
  if (manifest().check == CheckLevel::Off) return;
  auto scope = trace.scope("verify");
  report.violations = checkChange();
}

/// The ops since the last call become events.
void Session::takeOps(Trace& trace) {
  if (kernels::OpLog* log = m_parts.backend->log()) trace.addOps(log->take());
}

TickReport Session::finish(TickReport report, Trace& trace) {
  report.tick = state().tick;
  if (report.error && report.error->code == "guard") tellDamage(runChecks({.full = true}), report);
  for (const TokenId token : report.block) report.text += model().tokenizer().tokenText(token);
  takeOps(trace);
  report.events = trace.take();
  report.conversions = m_parts.store.takeConversions();
  tellConversions(report);
  m_health.report = std::make_shared<const TickReport>(report);
  if (report.ok || report.token) m_history.setReport(m_health.report);
  publish();
  return report;
}

}  // namespace kvlab
