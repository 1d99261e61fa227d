// SPDX-License-Identifier: Apache-2.0
// Verbs of wLOD sessions: expand and collapse, rounds of the focus allocator, speculative spans, and queries. Each is
// refused with no_wlod in other sessions. Engine thread. semantics.md, section 8.
#include <algorithm>

#include "core/api/json_values.h"
#include "core/api/read_json.h"
#include "core/kinds/wlod/kind/wlod_kind.h"
#include "core/kinds/wlod/wlod.h"
#include "core/session/edit_words.h"
#include "core/session/requests.h"
#include "core/session/ticks.h"
#include "core/verbs/verb_layers.h"
#include "core/verbs/verb_ticks.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

Error noLens(const char* what, std::string why, const char* remedy, std::string value) {
  return Error("no_lens", what, std::move(why), remedy, "lens", std::move(value));
}

/// The working context with the draft's tokens as normal tokens.
std::shared_ptr<const WlodState> accepted(const WlodState& state) {
  auto next = std::make_shared<WlodState>(state);
  next->draft.reset();
  return next;
}

/// True if the rows of a state lie in front of those that came since, in their slots.
bool inFront(const CacheState& before, const CacheState& now) {
  const auto begins = [](const auto& all, const auto& some) {
    return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin());
  };
  return std::ranges::all_of(before.layers(), [&](CacheLayer layer) {
    const ResidencyView &was = before.group(layer).stored(), &is = now.group(layer).stored();
    return begins(is.ledger, was.ledger) && begins(is.slotOf, was.slotOf);
  });
}

/// If layers work in place, the rows of an older state may have moved since: then they are computed again.
Status backInPlace(const CacheState& now, Commit& commit, CallContext& call) {
  const bool there = inFront(commit.state, now);
  call.parts.store.overwrites(there ? slotsBeside(now, commit.state) : slotsOf(now));
  call.parts.layouts.restart(call.parts.store, commit.state);
  if (there) return ok();
  Rebuilt anew = KV_TRY(call.parts.kind->rebuild(commit.state, call));
  if (!anew.commit) return Error("cancelled", "nothing was rolled back", "the pass was cancelled", "roll back again");
  commit.state.groups = std::move(anew.commit->state.groups);
  commit.state.groupOf = std::move(anew.commit->state.groupOf);
  return ok();
}

/// The kind of a wLOD session; `what` starts the error (no_wlod) for other sessions.
Result<const WlodKind*> wlodOf(const Session& session, const char* what) {
  if (const auto* kind = dynamic_cast<const WlodKind*>(&session.kind())) return kind;
  return Error("no_wlod", what, "this session has no working context", "open one with \"wlod\": {} in the manifest",
               "wlod", nullptr);
}

/// Runs a round of the focus allocator now. Makes a commit. Errors: no_lens, speculating.
TickReport refocus(Session& session) {
  constexpr const char* kWhat = "nothing was refocused";
  if (Status ready = session.changeable(); !ready) return session.refused(ready.error());
  if (const auto kind = wlodOf(session, kWhat); !kind) return session.refused(kind.error());
  if (!session.manifest().wlod->allocates())
    return session.refused(
        noLens(kWhat, "wlod.lens is off", "open the session with a lens, or expand and collapse by hand", "off"));
  if (Status none = noDraft(session, kWhat); !none) return session.refused(none.error());
  return session.tick({});
}

/// Sets the input of the lens `script`: one score per entry, -1 .. 1, above 0 = more detail. Makes a commit. Errors:
/// no_lens, bad_scores.
Status setLensScores(Session& session, std::vector<double> scores) {
  return session.change([&](CallContext&) -> Result<Commit> {
    const auto kind = KV_TRY(wlodOf(session, "the scores were refused"));
    const std::string& lens = kind->lens().name;
    if (lens != "script")
      return noLens("the scores were refused", "wlod.lens is " + lens, "open the session with wlod.lens script", lens);
    const WlodState& state = wlodIn(session.state());
    KV_TRY(refocus(state.context, scores, state.rules.focus, state.rules.working));
    auto next = std::make_shared<WlodState>(state);
    next->scores = std::move(scores);
    Commit commit{session.state()};
    commit.state.kind = std::move(next);
    return commit;
  });
}

/// Appends tokens that may be taken back. Until endDraft() only tokens may be added. Errors: speculating.
TickReport speculate(Session& session, const std::vector<TokenId>& tokens) {
  constexpr const char* kWhat = "nothing was drafted";
  if (const auto kind = wlodOf(session, kWhat); !kind) return session.refused(kind.error());
  if (!session.pending().empty())
    return session.refused({"speculating", kWhat,
                            "actions are pending, and only tokens may be added to a speculative span",
                            "apply or clear them first"});
  return append(session, tokens, Source::Model, false, true);
}

/// Keeps the speculative span, or removes it and restores the state before it. Makes a commit. Errors: no_draft.
Status endDraft(Session& session, bool keep) {
  return session.change([&](CallContext& call) -> Result<Commit> {
    KV_TRY(wlodOf(session, "there is nothing to end"));
    const WlodState& state = wlodIn(session.state());
    if (!state.draft)
      return Error("no_draft", keep ? "nothing was accepted" : "nothing was rolled back", "no speculative span is open",
                   "draft one with speculate");
    const CacheState& before = *state.draft->before;
    const CacheState& now = session.state();
    const bool inPlace = call.parts.layouts.inPlace();
    Commit commit{keep ? now : before};
    if (keep) commit.state.kind = accepted(state);
    else if (inPlace) KV_TRY(backInPlace(now, commit, call));
    if (!inPlace) commit.freed = keep ? slotsBeside(before, now) : slotsBeside(now, before);
    commit.state.tick = Tick(session.state().tick.value() + 1);
    return commit;
  });
}

/// Where the budget is full, the weakest blocks collapse first, or are offered.
Result<json> expandVerb(Session& session, VerbArgs& in) {
  const NodeId id(in.integer("node"));
  const TreeNode gist = TreeNode::of(id);
  const bool makesRoom = in.flag("room");
  std::vector<Action> actions;
  const auto* kind = dynamic_cast<const WlodKind*>(&session.kind());
  const auto rules = kind ? withPins(session.state())->rules.working : WorkingRules();
  if (kind && !wlodIn(session.state()).context.refusal({true, gist}, rules)) {
    const Result<std::vector<TreeNode>> blocks = kind->roomFor(gist, session.state(), session.pending());
    if (!blocks && makesRoom) return blocks.error();
    std::string named;
    for (const TreeNode& block : blocks ? *blocks : std::vector<TreeNode>()) {
      actions.push_back(Collapse{block.id()});
      named += (named.empty() ? "" : ", ") + block.text();
    }
    if (!named.empty() && !makesRoom)
      return Error("over_budget", gist.text() + " was not expanded",
                   "its 32 children do not fit into the budget of " + std::to_string(rules.budget) + " entries",
                   "collapse " + named + " first, the weakest block: expand with `room` does that", "node", id.value());
  }
  actions.push_back(Expand{id});
  return queued(session, std::move(actions), in);
}

Result<json> collapseVerb(Session& session, VerbArgs& in) {
  return queued(session, {Collapse{NodeId(in.integer("node"))}}, in);
}

Result<json> refocusVerb(Session& session, VerbArgs& in) {
  const std::int64_t rounds = in.integer("rounds");
  json reports = json::array();
  for (std::int64_t i = 0; i < rounds; ++i) {
    if (i > 0) session.betweenTicks();
    const TickReport report = refocus(session);
    if (!report.ok && report.error && i == 0) return *report.error;
    reports.push_back(toJson(report));
    if (!report.ok) break;  // the rounds before it stay
  }
  return reports;
}

Result<json> setLensScoresVerb(Session& session, VerbArgs& in) {
  KV_TRY(setLensScores(session, in.numbers("scores")));
  return json(nullptr);
}

Result<json> speculateVerb(Session& session, VerbArgs& in) {
  const std::vector<TokenId> tokens = in.tokens("tokens", session.model().config().vocab);
  if (in.error()) return *in.error();
  return single(speculate(session, tokens));
}

Result<json> ended(Session& session, bool keep) {
  KV_TRY(endDraft(session, keep));
  return json{{"tick", session.state().tick.value()}, {"moments", wlodIn(session.state()).tree.length()}};
}
Result<json> accept(Session& session, VerbArgs&) { return ended(session, true); }
Result<json> rollback(Session& session, VerbArgs&) { return ended(session, false); }

json nodeJson(TreeNode node) {
  return {{"node", node.id().value()}, {"level", node.level}, {"start", node.start}, {"end", node.end()}};
}

json roundJson(const FocusRound& round) {
  json out = KV_MEMBERS(round, round, budget, before, after, unlisted);
  out.update({{"tick", round.tick.value()}, {"moments", round.length}, {"decisions", json::array()}});
  for (const FocusDecision& decision : round.decisions) {
    json one = nodeJson(decision.node);
    one.update(KV_MEMBERS(decision, score, done, code, reason));
    one["edit"] = decision.expand ? "expand" : "collapse";
    out["decisions"].push_back(std::move(one));
  }
  return out;
}

json changeJson(const WlodChange& change) {
  json why = json::object();
  std::int64_t layer0 = 0;
  for (std::size_t i = 0; i < change.why.size(); ++i) {
    why[name(change.why[i])] = why.value(name(change.why[i]), 0) + 1;
    layer0 += change.layer0[i];
  }
  json edits = json::array();
  for (const TimelineChange& edit : change.edits)
    edits.push_back({{"begin", edit.moments.begin}, {"end", edit.moments.end}, {"content", edit.content}});
  json out = KV_MEMBERS(change, earliest, swapped, computed, full, reason, share, incrementalUs, fullUs, us, bytes);
  out.update({{"tick", change.tick.value()},
              {"edits", edits},
              {"rows", change.why.size()},
              {"why", why},
              {"layer0Kept", layer0},
              {"gists", change.gists.size()},
              {"left", change.kept}});
  return out;
}

json lossesJson(const GistLosses& losses) { return KV_MEMBERS(losses, full, trained, mean, truncation, nothing); }

json figuresJson(const GistFigures& figures) {
  json out = KV_MEMBERS(figures, level, tokens);
  out.update({{"nll", lossesJson(figures.nll)}, {"kl", lossesJson(figures.kl)}});
  return out;
}

Result<json> tree(const Session& session, VerbArgs& in) {
  const bool entries = in.flag("entries");
  const auto kind = KV_TRY(wlodOf(session, "there is no tree"));
  const std::shared_ptr<const WlodView> view = session.snapshot()->wlod;
  const WlodRatios& r = view->ratios;
  json out = KV_MEMBERS(*view, attention, gist, lens, notice, sigma, moments, budget, protectedFrom);
  out["figures"] = json::array();
  for (const GistFigures& level : view->figures) out["figures"].push_back(figuresJson(level));
  out.update({{"w", view->near},
              {"w2", view->middle},
              {"length", view->entries.size()},
              {"rows", view->rows.size()},
              {"ratios",
               {{"spatial", finite(r.spatial)},
                {"temporal", finite(r.temporal)},
                {"hits", finite(r.hits)},
                {"swaps", finite(r.swaps)},
                {"residency", r.residency}}},
              {"change", view->change ? changeJson(*view->change) : json()},
              {"rounds", json::array()},
              {"draft", view->draft ? KV_MEMBERS(*view->draft, begin, end) : json()}});
  out["costs"] = KV_MEMBERS(kind->costs(session.state()), rowUs, pairUs, threshold);
  for (const auto& round : view->rounds) out["rounds"].push_back(roundJson(*round));
  if (!entries) return out;
  out["entries"] = json::array();
  for (std::size_t i = 0; i < view->entries.size(); ++i) {
    json one = nodeJson(view->entries[i]);
    one.update({{"ledger", session.state().context[i].value()},
                {"phase", view->entries[i].phase()},
                {"cooling", view->cooling[i]}});
    one["mass"] = i < view->mass.size() ? json(view->mass[i]) : json();
    one["score"] = i < view->scores.size() ? json(view->scores[i]) : json();
    out["entries"].push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::span<const Verb> wlodVerbs() {
  static constexpr std::int64_t kMostNode = std::int64_t{kMostMoments} * 4 + 3;
  static const Verb kVerbs[] = {
      {{"expand",
        {arg::integer("node", 0, kMostNode), arg::flag("room", false), nowArg()},
        "Queues the expansion of a gist into its 32 children; now applies it at once. A node is start * 4 + level; "
        "tree() lists them. Where the budget is full, room collapses the weakest blocks before it.",
        "Queued",
        Effect::Commits},
       expandVerb},
      {{"collapse",
        {arg::integer("node", 0, kMostNode), nowArg()},
        "Queues the collapse of 32 siblings into their gist; now applies it at once.",
        "Queued",
        Effect::Commits},
       collapseVerb},
      {{"refocus",
        {arg::integer("rounds", 1, 1 << 16).orElse(1)},
        "Runs rounds of the focus allocator now, whatever is due; each is a tick.",
        "TickReport[]",
        Effect::Commits},
       refocusVerb},
      {{"setLensScores",
        {arg::of("scores", ArgType::Numbers)},
        "Sets the scores of the lens `script`: one per entry, between -1 and 1, above 0 = more detail.",
        "null",
        Effect::Commits,
        InLanes::Reference,
        false,
        EditSort::Setting},
       setLensScoresVerb,
       [](const json&, const EditWords&) { return std::string("scores of the lens"); }},
      {{"speculate",
        {arg::tokens("tokens")},
        "Appends tokens that may be taken back; step adds to them. Until accept or rollback nothing else may be "
        "edited.",
        "TickReport",
        Effect::Commits},
       speculateVerb,
       [](const json& args, const EditWords&) { return "draft of " + tokenCount(member(args, "tokens")); }},
      {{"accept", {}, "Keeps the speculative span.", "{ tick: number; moments: number }", Effect::Commits},
       accept,
       [](const json&, const EditWords&) { return std::string("accept the draft"); }},
      {{"rollback",
        {},
        "Removes the speculative span and restores the state before it.",
        "{ tick: number; moments: number }",
        Effect::Commits},
       rollback,
       [](const json&, const EditWords&) { return std::string("roll the draft back"); }},
      {{"tree",
        {arg::flag("entries", true)},
        "Gives the working context, what the last edit made dirty and why, and the allocator's rounds.",
        "WlodTree",
        Effect::Reads},
       tree},
  };
  return kVerbs;
}

}  // namespace kvlab
