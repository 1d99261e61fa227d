// SPDX-License-Identifier: Apache-2.0
// Verbs that move a session forward: prompts, ticks, actions.
#include <cmath>

#include "core/api/json_values.h"
#include "core/api/read_json.h"
#include "core/model/tokens/tokenizer.h"
#include "core/session/edit_words.h"
#include "core/session/observe.h"
#include "core/session/publisher.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"
#include "core/verbs/replies.h"
#include "core/verbs/verb_layers.h"
#include "core/verbs/verb_ticks.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kMostTicks = 1 << 24;

/// The verbs promptIds and prefill.
Result<json> promptIds(Session& session, VerbArgs& in) {
  const std::vector<TokenId> ids = in.tokens("ids", session.model().config().vocab);
  const bool last = !in.has("last") || in.flag("last");
  if (in.error()) return *in.error();
  return last ? prompted(session, ids) : single(append(session, ids, Source::Prompt, false));
}

/// The argument `text` as ids. A text at the start of a context gets the model's begin-of-text token.
Result<std::vector<TokenId>> textIds(const Session& session, VerbArgs& in) {
  const std::string text = in.text("text");
  std::vector<TokenId> ids = KV_TRY(session.model().tokenizer().encode(text, session.state().length() == 0));
  KV_TRY(checkRows(session.model().tokenizer(), ids, session.model().config().vocab));
  if (ids.empty()) in.fail("text", text, "has no tokens", "empty_tokens");
  return ids;
}

Result<json> prompt(Session& session, VerbArgs& in) {
  const std::vector<TokenId> ids = KV_TRY(textIds(session, in));
  if (in.error()) return *in.error();
  return prompted(session, ids);
}

/// The surprise of the ledger's tokens from `first` on.
json lossesFrom(const Ledger& ledger, LedgerId first, std::size_t tokens) {
  json losses = json::array();
  double sum = 0;
  std::int64_t scored = 0;
  for (LedgerId id = first; id < ledger.nextId() && losses.size() < tokens; id = LedgerId(id.value() + 1)) {
    if (ledger[id].kind != RowKind::Token || ledger[id].source != Source::Prompt) continue;
    const double loss = ledger[id].surprise;
    losses.push_back(finite(loss));
    sum += std::isnan(loss) ? 0 : loss;
    scored += std::isnan(loss) ? 0 : 1;
  }
  const double mean = sum / static_cast<double>(scored);
  return {
      {"scored", scored}, {"nll", finite(mean)}, {"perplexity", finite(std::exp(mean))}, {"losses", std::move(losses)}};
}

Result<json> scored(Session& session, const std::vector<TokenId>& ids, bool each) {
  const LedgerId first = session.state().ledger.nextId();
  const TickReport report = score(session, ids, each);
  const bool stopped = !report.ok && report.error;
  json out = lossesFrom(session.state().ledger, first, ids.size());
  if (stopped && out["losses"].empty()) return *report.error;
  if (stopped) out["error"] = report.error->toJson();
  return out;
}

Result<json> scoreVerb(Session& session, VerbArgs& in) {
  const std::vector<TokenId> ids = KV_TRY(textIds(session, in));
  const bool each = in.flag("each");
  if (in.error()) return *in.error();
  return scored(session, ids, each);
}

Result<json> scoreIdsVerb(Session& session, VerbArgs& in) {
  const std::vector<TokenId> ids = in.tokens("ids", session.model().config().vocab);
  const bool each = in.flag("each");
  if (in.error()) return *in.error();
  return scored(session, ids, each);
}

Result<json> endPrefillVerb(Session& session, VerbArgs&) { return single(endPrefill(session)); }

Result<json> stepVerb(Session& session, VerbArgs& in) {
  const StepRequest request(session, in);
  if (in.error()) return *in.error();
  json reports = json::array();
  Stops stops(session);
  for (std::int64_t i = 0; i < request.ticks; ++i) {
    if (i > 0) session.betweenTicks();
    stops.begin();
    const TickReport report = step(session, request.block(i), stops.inside());
    reports.push_back(session.stage() ? withStage(session, report) : toJson(report));
    const std::string hit = stops.after(report);
    if (!hit.empty()) reports.back()["stoppedBy"] = hit;
    if (!report.ok || !hit.empty()) break;
  }
  return reports;
}

Result<json> stage(const Session& session, VerbArgs&) { return session.stage() ? toJson(*session.stage()) : json(); }

Result<json> stepStageVerb(Session& session, VerbArgs& in) {
  const std::vector<TokenId> tokens =
      in.has("tokens") ? in.tokens("tokens", session.model().config().vocab) : std::vector<TokenId>();
  const auto block = static_cast<std::size_t>(session.manifest().ring.blockTokens);
  if (!tokens.empty() && session.stage()) in.fail("tokens", in.raw("tokens"), "come too late: a tick is open");
  if (tokens.size() > block)
    in.fail("tokens", in.raw("tokens"), "are more than the " + std::to_string(block) + " of a tick");
  if (in.error()) return *in.error();
  const StageStop always = [](Stage, const TickReport&) { return true; };
  if (session.stage()) return withStage(session, session.stepStage(always));
  const bool ends = tokens.empty() && promptOpen(session);
  return withStage(session, ends ? endPrefill(session, always) : step(session, tokens, always));
}

Result<json> finishTickVerb(Session& session, VerbArgs&) { return single(session.stepStage({})); }

Result<json> cancelTickVerb(Session& session, VerbArgs&) {
  KV_TRY(session.cancelTick());
  return json(nullptr);
}

Result<json> stepActionVerb(Session& session, VerbArgs&) { return toJson(stepAction(session)); }

Result<json> applyVerb(Session& session, VerbArgs&) { return single(apply(session)); }

Result<json> runVerb(Session& session, VerbArgs& in) {
  const RunOutcome out =
      run(session, static_cast<int>(in.integer("maxTicks")), static_cast<std::size_t>(in.integer("reports")));
  return json{{"ticks", listJson(out.reports)}, {"count", out.count}, {"stoppedBy", out.stoppedBy}};
}

Result<json> injectVerb(Session& session, VerbArgs& in) {
  std::vector<Action> actions = KV_TRY(actionsFromJson(in.raw("actions")));
  return queued(session, std::move(actions), in);
}

Result<json> clearPendingVerb(Session& session, VerbArgs&) {
  clearPending(session);
  return json{{"pending", 0}};
}

Result<json> evict(Session& session, VerbArgs& in) {
  Evict action{Layer(static_cast<std::int32_t>(in.integer("layer"))), {}, in.ids<LedgerId>("ledger")};
  if (in.has("kvHead")) action.kvHead = Head(static_cast<std::int32_t>(in.integer("kvHead")));
  return queued(session, {std::move(action)}, in);
}

json plannedJson(const PlannedAction& edit, int place, const Action& action) {
  json removed = json::array();
  for (Position p : edit.removed) removed.push_back(p.value());
  return {{"place", place},
          {"action", toJson(action)["action"]},
          {"removed", removed},
          {"finalPosition", edit.finalPosition.value()},
          {"newLedger", ledgerList(edit.newLedger)}};
}

Result<json> planVerb(const Session& session, VerbArgs& in) {
  const std::vector<Action> actions = KV_TRY(actionsFromJson(in.raw("actions")));
  const Queue queue = queueOf(in);
  const int pending =
      queue == Queue::Behind ? static_cast<int>(session.pending().size()) : 0;  // these come first in the plan
  const PlanView view = planView(session, KV_TRY(kvlab::plan(session, actions, queue)));
  json out = KV_MEMBERS(view, lengthAfter, phaseShifted, newRows, recomputed, bytes);
  out.update({{"ok", true}, {"stale", view.staleRows}, {"actions", json::array()}});
  for (const PlannedAction& edit : view.edits)
    if (const int place = edit.place - pending; place >= 0)
      out["actions"].push_back(plannedJson(edit, place, actions[static_cast<std::size_t>(place)]));
  for (const PlannedEviction& eviction : view.evictions)
    out["actions"].push_back(toJson(Action(evictOf(session.cacheLayers(), eviction))));
  return out;
}

json conditionsOf(const Session& session) {
  json all = json::array();
  if (const auto views = session.breakpoints().views())
    for (const BreakpointView& one : *views) all.push_back(one.condition);
  return all;
}

/// The breakpoint with the settings that a call gives; the rest stays.
BreakpointView wished(BreakpointView view, const VerbArgs& in) {
  if (in.has("ignore")) view.ignore = in.integer("ignore");
  if (in.has("once")) view.once = in.flag("once");
  if (in.has("log")) view.logs = in.flag("log");
  if (in.has("enabled")) view.enabled = in.flag("enabled");
  return view;
}

Result<json> addBreak(Session& session, VerbArgs& in) {
  Expression condition = KV_TRY(readExpression(session, in.text("condition"), true));
  session.breakpoints().add(std::move(condition), wished({}, in));
  session.publish();
  return conditionsOf(session);
}

Error noBreakpoint(std::int64_t id, const std::string& what) {
  return Error("no_breakpoint", what, "there is no breakpoint " + std::to_string(id), "s.breaks() lists all of them",
               "id", id);
}

Result<json> changeBreak(Session& session, VerbArgs& in) {
  const std::int64_t id = in.integer("id");
  const BreakpointView* point = session.breakpoints().find(static_cast<int>(id));
  if (!point) return noBreakpoint(id, "no breakpoint was changed");
  const BreakpointView wish = wished(*point, in);
  session.breakpoints().change(wish);
  session.publish();
  return toJson(wish);
}

Result<json> clearBreaks(Session& session, VerbArgs& in) {
  if (!in.has("id")) session.breakpoints().clear();
  else if (!session.breakpoints().remove(static_cast<int>(in.integer("id"))))
    return noBreakpoint(in.integer("id"), "no breakpoint was removed");
  session.publish();
  return conditionsOf(session);
}

std::string saysText(const json& args, const EditWords&) { return "prompt " + quotedText(member(args, "text")); }
std::string saysIds(const json& args, const EditWords&) { return "prompt of " + tokenCount(member(args, "ids")); }

std::string saysMessage(const json& args, const EditWords&) {
  const json& messages = member(args, "messages");
  json last = element(messages, messages.size() - 1);
  if (last.is_string()) last = json::parse(last.get<std::string>(), nullptr, false);
  return "message " + quotedText(member(last, "content"));
}

std::string saysAction(const json& args, const EditWords&) {
  return member(args, "pending").empty() ? "" : "one pending action";
}

}  // namespace

std::span<const Verb> tickVerbs() {
  static const Verb kVerbs[] = {
      {verb::commits("prompt", {arg::text("text")}, "Appends a text to the context.", "TickReport", InLanes::Feeds,
                     EditSort::Prompt),
       prompt, saysText},
      {verb::commits("promptIds", {arg::tokens("ids")}, "Appends token ids to the context.", "TickReport",
                     InLanes::Feeds, EditSort::Prompt),
       promptIds, saysIds},
      {verb::commits("chat",
                     {arg::of("messages", ArgType::List, 1).as("ChatMessage[]"), arg::text("template").orNone(),
                      arg::flag("addGenerationPrompt", true), arg::flag("more", false)},
                     "Appends what the context does not hold of a conversation yet, in the words of the model's chat "
                     "template, or of the one given. With more the messages follow whatever the context holds. Without "
                     "addGenerationPrompt no reply is begun.",
                     "ChatReply", InLanes::Feeds, EditSort::Prompt),
       chatVerb, saysMessage},
      {verb::commits("score", {arg::text("text"), arg::flag("each", false)},
                     "Appends a text and says how surprising each token was: its negative log-likelihood. With each, "
                     "tokens go in one by one, so that policies act between them.",
                     "Score", InLanes::Feeds, EditSort::Prompt),
       scoreVerb, saysText},
      {verb::commits("scoreIds", {arg::tokens("ids"), arg::flag("each", false)},
                     "Appends token ids and says how surprising each was, as score does.", "Score", InLanes::Feeds,
                     EditSort::Prompt),
       scoreIdsVerb, saysIds},
      {verb::commits("prefill", {arg::tokens("ids"), arg::flag("last", true)},
                     "Appends a chunk of a prompt; endPrefill ends the prompt. With last, which is true unless given, "
                     "this chunk ends it.",
                     "TickReport", InLanes::Feeds, EditSort::Prompt),
       promptIds, saysIds},
      {verb::commits("endPrefill", {},
                     "Ends a prompt that came in chunks: policies evict what they do not keep. Where no policy had to "
                     "wait for it, nothing changes.",
                     "TickReport", InLanes::Feeds, EditSort::Prompt),
       endPrefillVerb, [](const json&, const EditWords&) { return std::string("end of the prompt"); }},
      {verb::commits("step", {arg::integer("n", 1, kMostTicks).orNone(), arg::tokens("tokens").orNone()},
                     "Runs ticks until a breakpoint: one token each, sampled or given, with the pending actions. All "
                     "lanes take the tokens that are given, or those that lane 0 samples.",
                     "TickReport[]", InLanes::Steps, EditSort::Ticks),
       stepVerb},
      {verb::commits("stepAction", {},
                     "Applies only the pending action with the highest position; without one, runs a tick.",
                     "TickReport", InLanes::Refused, EditSort::Ticks),
       stepActionVerb, saysAction},
      {verb::reads("stage", {}, "Tells where an open tick stands, and what it has decided; null where none is open.",
                   "OpenStage | null"),
       stage},
      {verb::ofTick(verb::commits(
           "stepStage", {arg::tokens("tokens").orNone()},
           "Does the next stage of a tick and stops: generate, observe, plan, each action, each token of a block, "
           "prune (policies have decided, no row has left yet), apply, verify. Begins a step where no tick is open, "
           "with the given tokens instead of sampled ones; behind a prompt that has not ended (last: false) it begins "
           "the end of the prompt.",
           "TickReport")),
       stepStageVerb},
      {verb::ofTick(verb::commits("finishTick", {}, "Runs the open tick to its end.", "TickReport")), finishTickVerb},
      {verb::ofTick(verb::queues("cancelTick", {},
                                 "Throws the open tick away, before its commit; nothing has changed then.", "null")),
       cancelTickVerb},
      {verb::commits("run",
                     {arg::integer("maxTicks", 1, kMostTicks).orElse(64),
                      arg::integer("reports", 1, kMostTicks).orElse(kMostTicks)},
                     "Runs ticks until a breakpoint, an error, the end of the text or maxTicks. Reports of the last "
                     "ticks come back, at most as many as reports says; count is the number of all ticks that ran.",
                     "RunReport<TickReport>", InLanes::Steps, EditSort::Ticks),
       runVerb},
      {verb::commits("inject", {arg::of("actions", ArgType::Actions, 1), nowArg(), insteadArg()},
                     "Checks actions together with the pending ones and queues them behind those. With instead they "
                     "take the place of the pending ones. With now the whole list is applied at once. A refused call "
                     "leaves the pending ones as they were.",
                     "Queued"),
       injectVerb},
      {verb::queues("clearPending", {}, "Forgets the pending actions. A tick that was refused leaves them pending.",
                    "{ pending: number }"),
       clearPendingVerb},
      {verb::reads("plan", {arg::of("actions", ArgType::Actions, 1), insteadArg()},
                   "Shows what actions would do behind the pending ones, or instead of them; nothing is queued.",
                   "EditPlan"),
       planVerb},
      {verb::commits("apply", {}, "Applies the pending actions now, without generating.", "TickReport"), applyVerb},
      {verb::commits("evict", {layerArg(), arg::of("ledger", ArgType::LedgerIds), headArg(), nowArg()},
                     "Queues the removal of rows from one layer; now applies it at once.", "Queued"),
       evict},
      {verb::marks("break",
                   {arg::text("condition"), arg::integer("ignore", 0, kMostTicks).orNone(),
                    arg::of("once", ArgType::Flag).orNone(), arg::of("log", ArgType::Flag).orNone(),
                    arg::of("enabled", ArgType::Flag).orNone()},
                   "Adds a breakpoint for run and step: a condition in the language of the manual's page Expressions, "
                   "such as \"evicted(ledger==12)\", \"kl > 0.05 and length >= 900\", \"changed(rows(layer==0))\", "
                   "\"read(ledger==3)\", \"wrap(layer==3)\", \"invariant\" or \"error\". \"stage(plan)\" stops inside "
                   "a tick, which stays open; \"stage(prune) and evicted(layer==3)\" before a policy drops rows of the "
                   "layer, at the end of a prompt, too. ignore says how often the condition may hold before it stops. "
                   "With once "
                   "the breakpoint is forgotten when it has stopped a run. With log it writes a line to the log "
                   "instead of stopping. One that is not enabled is not asked.",
                   "string[]"),
       addBreak},
      {verb::marks("changeBreak",
                   {arg::integer("id", 0, kMostId), arg::of("enabled", ArgType::Flag).orNone(),
                    arg::integer("ignore", 0, kMostTicks).orNone(), arg::of("once", ArgType::Flag).orNone(),
                    arg::of("log", ArgType::Flag).orNone()},
                   "Changes what a breakpoint of breaks() does: asked or not, how often it may hold before it stops, "
                   "once, log. Arguments that are left out stay as they are.",
                   "Breakpoint"),
       changeBreak},
      {verb::marks("clearBreaks", {arg::integer("id", 0, kMostId).orNone()},
                   "Removes all breakpoints, or the one with this id.", "string[]"),
       clearBreaks},
  };
  return kVerbs;
}

}  // namespace kvlab
