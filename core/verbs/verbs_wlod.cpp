// SPDX-License-Identifier: Apache-2.0
// Verbs of wLOD sessions: detail by hand, rounds of the focus allocator, speculative spans, and what is seen of it all.
#include "core/verbs/verb_layers.h"
#include "core/verbs/verb_ticks.h"
#include "core/verbs/verbs.h"
#include "core/verbs/wlod_session.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// expand, collapse: queued like inject, or at once.
template <class Kind>
Result<json> lod(Session& session, const json& args) {
  VerbArgs in(args);
  const NodeId node(in.integer("node", {}, 0, std::int64_t{kMostMoments} * 4 + 3));
  const bool now = in.flag("now", false);
  if (in.error()) return *in.error();
  return queued(session, Kind{node}, now, args);
}

Result<json> refocus(Session& session, const json& args) {
  VerbArgs in(args);
  const std::int64_t rounds = in.integer("rounds", 1, 1, 1 << 16);
  if (in.error()) return *in.error();
  json reports = json::array();
  for (std::int64_t i = 0; i < rounds; ++i) {
    const TickReport report = refocus(session);
    if (!report.ok && report.error) return *report.error;
    reports.push_back(toJson(report));
  }
  return reports;
}

Result<json> setLensScores(Session& session, const json& args) {
  VerbArgs in(args);
  std::vector<double> scores;
  if (!in.has("scores") || !in.raw("scores").is_array()) in.fail("scores", nullptr, "is not a list of numbers");
  else
    for (const json& score : in.raw("scores")) {
      if (!score.is_number()) in.fail("scores", score, "holds something that is no number");
      scores.push_back(score.is_number() ? score.get<double>() : 0);
    }
  if (in.error()) return *in.error();
  if (Status set = setLensScores(session, std::move(scores)); !set) return set.error();
  return json(nullptr);
}

Result<json> speculate(Session& session, const json& args) {
  VerbArgs in(args);
  const std::vector<TokenId> tokens = in.tokens("tokens", session.model().config().vocab);
  if (in.error()) return *in.error();
  return single(speculate(session, tokens));
}

Result<json> ended(Session& session, bool keep) {
  if (Status ended = endDraft(session, keep); !ended) return ended.error();
  return json{{"tick", session.state().tick.value()}, {"moments", session.state().wlod->tree.length()}};
}
Result<json> accept(Session& session, const json&) { return ended(session, true); }
Result<json> rollback(Session& session, const json&) { return ended(session, false); }

json nodeJson(TreeNode node) {
  return {{"node", node.id().value()}, {"level", node.level}, {"start", node.start}, {"end", node.end()}};
}

json roundJson(const FocusRound& round) {
  json out{{"round", round.round},       {"tick", round.tick.value()}, {"moments", round.length},
           {"budget", round.budget},     {"before", round.before},     {"after", round.after},
           {"unlisted", round.unlisted}, {"decisions", json::array()}};
  for (const FocusDecision& decision : round.decisions) {
    json one = nodeJson(decision.node);
    one.update({{"edit", decision.expand ? "expand" : "collapse"},
                {"score", decision.score},
                {"done", decision.done},
                {"code", decision.code},
                {"reason", decision.reason}});
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
  return {{"tick", change.tick.value()},
          {"edits", edits},
          {"earliest", change.earliest},
          {"rows", change.why.size()},
          {"why", why},
          {"layer0Kept", layer0},
          {"gists", change.gists.size()},
          {"swapped", change.swapped},
          {"computed", change.computed},
          {"left", change.kept},
          {"full", change.full},
          {"reason", change.reason},
          {"share", change.share},
          {"incrementalUs", change.incrementalUs},
          {"fullUs", change.fullUs},
          {"us", change.us},
          {"bytes", change.bytes}};
}

Result<json> tree(Session& session, const json& args) {
  VerbArgs in(args);
  const bool entries = in.flag("entries", true);
  if (in.error()) return *in.error();
  const auto kind = wlodOf(session, "there is no tree");
  if (!kind) return kind.error();
  const std::shared_ptr<const WlodView> view = session.snapshot()->wlod;
  const WlodRatios& r = view->ratios;
  json out{{"attention", view->attention},
           {"gist", view->gist},
           {"lens", view->lens},
           {"w", view->near},
           {"w2", view->middle},
           {"sigma", view->sigma},
           {"moments", view->moments},
           {"budget", view->budget},
           {"length", view->entries.size()},
           {"rows", view->rows.size()},
           {"protectedFrom", view->protectedFrom},
           {"ratios",
            {{"spatial", finite(r.spatial)},
             {"temporal", finite(r.temporal)},
             {"hits", finite(r.hits)},
             {"swaps", finite(r.swaps)},
             {"residency", r.residency}}},
           {"change", view->change ? changeJson(*view->change) : json()},
           {"rounds", json::array()},
           {"draft", view->draft ? json{{"begin", view->draft->begin}, {"end", view->draft->end}} : json()}};
  const RecomputeCosts costs = (*kind)->costs(session.state());
  out["costs"] = {{"rowUs", costs.rowUs}, {"pairUs", costs.pairUs}, {"threshold", costs.threshold}};
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
  static const Verb kVerbs[] = {
      {{"expand", {"node", "now"}, "Queues the swap of a gist for its 32 children; nodes are start * 4 + level.", true},
       lod<Expand>},
      {{"collapse", {"node", "now"}, "Queues the swap of 32 siblings for their gist.", true}, lod<Collapse>},
      {{"refocus", {"rounds"}, "Rounds of the focus allocator, whatever is due.", true}, refocus},
      {{"setLensScores",
        {"scores"},
        "What the lens `script` goes by: one score per entry, above 0 = wants detail.",
        true},
       setLensScores},
      {{"speculate", {"tokens"}, "Appends tokens that may be taken back.", true}, speculate},
      {{"accept", {}, "Keeps the speculative span.", true}, accept},
      {{"rollback", {}, "Takes the speculative span back.", true}, rollback},
      {{"tree", {"entries"}, "The working context, the last edit's invalidation, and the allocator's rounds.", false},
       tree},
  };
  return kVerbs;
}

}  // namespace kvlab
