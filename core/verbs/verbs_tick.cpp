// SPDX-License-Identifier: Apache-2.0
// Verbs that move a session forward: prompts, ticks, actions.
#include "core/session/requests.h"
#include "core/session/ticks.h"
#include "core/verbs/verb_ticks.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kMostIds = (std::int64_t{1} << 31) - 1;

json idsOf(std::span<const LedgerId> list) {
  json out = json::array();
  for (LedgerId id : list) out.push_back(id.value());
  return out;
}

/// promptIds, prefill.
Result<json> promptIds(Session& session, const json& args) {
  VerbArgs in(args);
  const std::vector<TokenId> ids = in.tokens("ids", session.model().config().vocab);
  const bool last = in.flag("last", true);
  if (in.error()) return *in.error();
  return single(append(session, ids, Source::Prompt, last));
}

Result<json> prompt(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string text = in.text("text");
  if (in.error()) return *in.error();
  // A text that opens a context begins as the model expects it to.
  Result<std::vector<TokenId>> ids = session.model().tokenizer().encode(text, session.state().length() == 0);
  if (!ids) return ids.error();
  if (ids->empty()) in.fail("text", text, "has no tokens", "empty_tokens");
  if (in.error()) return *in.error();
  return single(append(session, *ids, Source::Prompt));
}

Result<json> endPrefill(Session& session, const json&) { return single(endPrefill(session)); }

Result<json> step(Session& session, const json& args) {
  VerbArgs in(args);
  std::vector<TokenId> tokens;
  if (in.has("tokens")) tokens = in.tokens("tokens", session.model().config().vocab);
  const auto block = static_cast<std::size_t>(session.manifest().ring.blockTokens);
  const auto blocks = static_cast<std::int64_t>((tokens.size() + block - 1) / block);
  const std::int64_t n = in.integer("n", tokens.empty() ? 1 : blocks, 1, 1 << 24);
  if (!tokens.empty() && n > blocks)
    in.fail("n", n, "is " + std::to_string(n) + ", but there are " + std::to_string(tokens.size()) + " tokens");
  if (in.error()) return *in.error();
  json reports = json::array();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto from = std::min(tokens.size(), static_cast<std::size_t>(i) * block),
               to = std::min(tokens.size(), from + block);
    const TickReport report = step(session,
                                   std::vector<TokenId>(tokens.begin() + static_cast<std::ptrdiff_t>(from),
                                                        tokens.begin() + static_cast<std::ptrdiff_t>(to)));
    reports.push_back(toJson(report));
    if (!report.ok) break;
  }
  return reports;
}

Result<json> stepAction(Session& session, const json&) { return toJson(stepAction(session)); }

Result<json> apply(Session& session, const json&) { return single(apply(session)); }

Result<json> run(Session& session, const json& args) {
  VerbArgs in(args);
  const std::int64_t most = in.integer("maxTicks", 64, 1, 1 << 24);
  if (in.error()) return *in.error();
  std::string stoppedBy;
  json reports = json::array();
  for (const TickReport& report : run(session, static_cast<int>(most), stoppedBy)) reports.push_back(toJson(report));
  return json{{"ticks", reports}, {"stoppedBy", stoppedBy}};
}

/// The actions of inject and plan, at least one.
Result<std::vector<Action>> actionsOf(const json& args) {
  VerbArgs in(args);
  if (!in.has("actions")) in.fail("actions", nullptr, "is missing");
  else if (!in.raw("actions").is_array()) in.fail("actions", in.raw("actions"), "is not a list");
  else if (in.raw("actions").empty()) in.fail("actions", json::array(), "is empty", "empty_actions");
  if (in.error()) return *in.error();
  return actionsFromJson(in.raw("actions"));
}

Result<json> inject(Session& session, const json& args) {
  Result<std::vector<Action>> actions = actionsOf(args);
  if (!actions) return actions.error();
  if (Status queued = inject(session, actions.take()); !queued) return queued.error();
  return json{{"pending", session.pending().size()}};
}

Result<json> clearPending(Session& session, const json&) {
  clearPending(session);
  return json{{"pending", 0}};
}

Result<json> evict(Session& session, const json& args) {
  VerbArgs in(args);
  Evict action{
      Layer(static_cast<std::int32_t>(in.integer("layer", {}, 0, 1 << 20))), {}, in.ids<LedgerId>("ledger", kMostIds)};
  if (in.has("kvHead")) action.kvHead = Head(static_cast<std::int32_t>(in.integer("kvHead", {}, 0, 1 << 20)));
  const bool now = in.flag("now", false);
  if (in.error()) return *in.error();
  return queued(session, std::move(action), now, args);
}

Result<json> plan(Session& session, const json& args) {
  Result<std::vector<Action>> actions = actionsOf(args);
  if (!actions) return actions.error();
  const int pending = static_cast<int>(session.pending().size());  // they come first: places count from behind them
  Result<EditPlan> plan = kvlab::plan(session, *actions);
  if (!plan) return plan.error();
  json out{{"ok", true},
           {"lengthAfter", plan->lengthAfter},
           {"phaseShifted", plan->phaseShifted},
           {"newRows", plan->rows.size()},
           {"actions", json::array()}};
  const AfterEdit after = session.manifest().afterEdit;
  const bool again = after == AfterEdit::Recompute || session.state().wlod;
  out["stale"] = again ? 0 : plan->stale;
  out["recomputed"] = again ? plan->stale : 0;
  std::int64_t row = 0;  // bytes, in all layers
  for (int layer = 0; layer < session.store().layers(); ++layer) row += session.store().pool(layer).stride();
  out["bytes"] = (static_cast<std::int64_t>(plan->rows.size()) + (session.state().wlod ? plan->stale : 0)) * row;
  for (const PlannedAction& detail : plan->details) {
    if (detail.place < pending) continue;
    json removed = json::array();
    for (Position p : detail.removed) removed.push_back(p.value());
    out["actions"].push_back({{"place", detail.place - pending},
                              {"action", toJson(plan->actions[static_cast<std::size_t>(detail.place)])["action"]},
                              {"removed", removed},
                              {"finalPosition", detail.finalPosition.value()},
                              {"newLedger", idsOf(detail.newLedger)}});
  }
  for (const PlannedEviction& eviction : plan->evictions)
    out["actions"].push_back(toJson(Action(evictOf(session.cacheLayers(), eviction))));
  return out;
}

Result<json> addBreak(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string condition = in.text("condition");
  if (in.error()) return *in.error();
  if (Status added = session.breakpoints().add(condition); !added) return added.error();
  json all = json::array();
  for (const auto& c : session.breakpoints().conditions()) all.push_back(c.text);
  return all;
}

Result<json> clearBreaks(Session& session, const json&) {
  session.breakpoints().clear();
  return json::array();
}

}  // namespace

std::span<const Verb> tickVerbs() {
  static const Verb kVerbs[] = {
      {{"prompt", {"text"}, "Appends a text to the context.", true}, prompt},
      {{"promptIds", {"ids"}, "Appends token ids to the context.", true}, promptIds},
      {{"prefill", {"ids", "last"}, "Appends a chunk of a prompt; endPrefill ends it.", true}, promptIds},
      {{"endPrefill", {}, "Ends a prompt that came in chunks: policies evict what they do not keep.", true},
       endPrefill},
      {{"step", {"n", "tokens"}, "Runs ticks: one token each, sampled or given, with the pending actions.", true},
       step},
      {{"stepAction", {}, "Applies the pending action that stands highest, alone; a tick where none is pending.", true},
       stepAction},
      {{"run", {"maxTicks"}, "Runs ticks until a breakpoint, an error, the end of the text or maxTicks.", true}, run},
      {{"inject", {"actions"}, "Checks actions together with the pending ones and queues them.", false}, inject},
      {{"clearPending", {}, "Forgets the pending actions.", false}, clearPending},
      {{"plan", {"actions"}, "Shows what actions would do; nothing is queued.", false}, plan},
      {{"apply", {}, "Applies the pending actions now, without generating.", true}, apply},
      {{"evict", {"layer", "ledger", "kvHead", "now"}, "Queues the removal of rows from one layer.", true}, evict},
      {{"break", {"condition"}, "Adds a breakpoint for run.", false}, addBreak},
      {{"clearBreaks", {}, "Removes all breakpoints.", false}, clearBreaks},
  };
  return kVerbs;
}

}  // namespace kvlab
