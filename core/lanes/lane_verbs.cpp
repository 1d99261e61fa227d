// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lane_verbs.h"

#include <algorithm>
#include <map>

#include "core/api/json_values.h"
#include "core/verbs/replies.h"
#include "core/verbs/verb_ticks.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kMostLane = 1 << 16;

/// Lane 0's report with the results of the other lanes.
json toJson(const Lanes& lanes, const LanesTick& tick) {
  const std::shared_ptr<const TickReport> report = lanes.session(0).snapshot()->report;
  json out = report ? toJson(*report) : json::object();
  out["tokens"] = tick.tokens;
  out["text"] = tick.text;
  out["lanes"] = json::array();
  for (std::size_t lane = 0; lane < tick.lanes.size(); ++lane) {
    const LanesTick::Outcome& outcome = tick.lanes[lane];
    json row = outcome.stepped ? toJson(outcome.figures) : json::object();
    row["lane"] = lane;
    row["stepped"] = outcome.stepped;
    if (outcome.error) row["error"] = outcome.error->toJson();
    out["lanes"].push_back(std::move(row));
  }
  out["weightBytes"] = tick.weightBytes;
  out["together"] = tick.together;
  if (!tick.apart.empty()) out["apart"] = tick.apart;
  return out;
}

Result<json> answer(const Lanes& lanes, const Result<LanesTick>& tick) {
  if (!tick) return tick.error();
  return toJson(lanes, *tick);
}

json failedTick(const Lanes& lanes, const Error& error) {
  return {{"ok", false},
          {"tick", lanes.session(0).state().tick},
          {"token", nullptr},
          {"text", ""},
          {"error", error.toJson()},
          {"lanes", json::array()}};
}

Result<json> step(Lanes& lanes, VerbArgs& in) {
  const StepRequest request(lanes.session(0), in);
  if (in.error()) return *in.error();
  json ticks = json::array();
  Stops stops = lanes.stops();
  for (std::int64_t i = 0; i < request.ticks; ++i) {
    if (i > 0) lanes.betweenTicks();
    if (request.ticks > 1 && !report(lanes.progress(), "stepping lanes", i, request.ticks)) break;
    stops.begin();
    const Result<LanesTick> tick = lanes.step(request.block(i));
    ticks.push_back(tick ? toJson(lanes, *tick) : failedTick(lanes, tick.error()));
    if (!tick || tick->lanes.front().error) break;
    const std::string hit = stops.after(*lanes.session(0).snapshot()->report);
    if (!hit.empty()) ticks.back()["stoppedBy"] = hit;
    if (!hit.empty()) break;
  }
  return ticks;
}

Result<json> run(Lanes& lanes, VerbArgs& in) {
  const std::int64_t most = in.integer("maxTicks"), reports = in.integer("reports");
  const Session& first = lanes.session(0);
  const std::vector<TokenId> eos = first.model().tokenizer().eos();
  json ticks = json::array();
  std::string stoppedBy;
  std::int64_t count = 0;
  Stops stops = lanes.stops();
  while (stoppedBy.empty() && count < most) {
    if (count > 0) lanes.betweenTicks();
    if (!report(lanes.progress(), "running lanes", count, most)) {
      stoppedBy = "cancelled";
      break;
    }
    stops.begin();
    const Result<LanesTick> tick = lanes.step();
    ++count;
    if (std::ssize(ticks) == reports) ticks.erase(ticks.begin());
    ticks.push_back(tick ? toJson(lanes, *tick) : failedTick(lanes, tick.error()));
    if (!tick || tick->lanes.front().error) stoppedBy = "error";
    else if (stoppedBy = stops.after(*first.snapshot()->report);
             stoppedBy.empty() && std::find(eos.begin(), eos.end(), tick->tokens.back()) != eos.end())
      stoppedBy = "end_of_text";
  }
  return json{{"ticks", ticks}, {"count", count}, {"stoppedBy", stoppedBy.empty() ? "max_ticks" : stoppedBy}};
}

Result<json> needles(Lanes& lanes, VerbArgs& in) {
  KV_TRY(lanes.setNeedles(placesOf(in, "places")));
  return json(nullptr);
}

Result<json> one(Lanes& lanes, VerbArgs& in) {
  const auto lane = static_cast<int>(in.within("lane", 0, lanes.size() - 1));
  if (in.error()) return *in.error();
  return lanes.call(lane, in.text("verb"), in.has("args") ? in.raw("args") : json::object());
}

Result<json> lanesReport(Lanes& lanes, VerbArgs&) { return toJson(*lanes.view()); }

Result<json> lanesLosses(Lanes& lanes, VerbArgs&) {
  const Session& first = lanes.session(0);
  const LanesViewPtr view = lanes.view();
  json tokens = json::array(), texts = json::array(), rows = json::array();
  for (const LedgerId id : view->lanes.front().taken) {
    const TokenId token = first.state().ledger[id].token;
    tokens.push_back(token);
    texts.push_back(first.model().tokenizer().tokenText(token));
  }
  for (const LaneView& lane : view->lanes) rows.push_back({{"lane", rows.size()}, {"losses", finiteList(lane.losses)}});
  return json{{"tokens", std::move(tokens)}, {"texts", std::move(texts)}, {"lanes", std::move(rows)}};
}

Result<json> lanesDifference(Lanes& lanes, VerbArgs& in) {
  const auto lane = static_cast<int>(in.within("lane", 0, lanes.size() - 1));
  const auto of = static_cast<int>(in.within("of", 0, lanes.size() - 1, 0));
  if (in.error()) return *in.error();
  Session &then = lanes.session(of), &now = lanes.session(lane);
  return toJson(KV_TRY(difference(then, now)), then, now);
}

/// Null for verbs that lanes pass on to a session.
RunsOnLanes ownRun(const std::string& name) {
  static const std::map<std::string, RunsOnLanes> kTicks = {{"step", step}, {"run", run}};
  if (const auto found = kTicks.find(name); found != kTicks.end()) return found->second;
  for (const Verb& verb : laneVerbs())
    if (const auto* own = std::get_if<RunsOnLanes>(&verb.run); own && verb.info.name == name) return *own;
  return nullptr;
}

Result<json> runOwn(Lanes& lanes, const VerbInfo& info, const json& args) {
  const RunsOnLanes own = ownRun(info.name);
  if (!own) return unknownVerb(info.name);
  VerbArgs in(info.args, args);
  Result<json> result = in.error() ? Result<json>(*in.error()) : own(lanes, in);
  return result ? std::move(result) : VerbArgs::completed(result.error(), info.name, info.args);
}

Error outOfStep(const std::string& name) {
  return {"in_lockstep", name + " was refused", "the verb would bring the reference out of step with the other lanes",
          "close the lanes, or call the verb on a fork of the reference"};
}

}  // namespace

std::vector<std::int32_t> placesOf(const VerbArgs& in, const char* field) {
  std::vector<std::int32_t> out;
  for (const LedgerId id : in.ids<LedgerId>(field)) out.push_back(id.value());
  return out;
}

Result<json> execute(Lanes& lanes, const std::string& name, const json& given) {
  const VerbInfo* info = verbNamed(name);
  if (!info) return unknownVerb(name);
  const json none = json::object(), &args = given.is_null() ? none : given;
  switch (info->lanes) {
    case InLanes::Steps:
    case InLanes::Own: return runOwn(lanes, *info, args);
    case InLanes::Feeds: return answer(lanes, lanes.feed(name, args));
    case InLanes::Refused: return outOfStep(name);
    case InLanes::Reference:
    case InLanes::Opens:
    case InLanes::Closes:
    case InLanes::Batch:
    case InLanes::OpensBatch:
    case InLanes::ClosesBatch: break;
  }
  return lanes.call(0, name, args);
}

std::span<const Verb> laneVerbs() {
  static const Verb kVerbs[] = {
      {{"lanesOpen",
        {arg::of("lanes", ArgType::List).as("Manifest[]"), arg::flag("together", true),
         arg::of("needles", ArgType::LedgerIds).orNone()},
        "Opens lanes with the session as lane 0; each entry of the list has the manifest keys of one more lane.",
        "{ lanes: number }",
        Effect::Commits,
        InLanes::Opens},
       {}},
      {{"lanesClose",
        {arg::integer("lane", 0, kMostLane).orElse(0)},
        "Closes the lanes and keeps the session of one of them.",
        "null",
        Effect::Commits,
        InLanes::Closes},
       {}},
      {{"lane",
        {arg::integer("lane", 0, kMostLane), arg::of("verb", ArgType::Verb),
         arg::of("args", ArgType::Arguments).orNone()},
        "Runs a verb on one lane alone.",
        "any",
        Effect::Commits,
        InLanes::Own},
       one},
      {{"lanesReport",
        {},
        "Gives one row per lane with its differences from lane 0.",
        "LaneReport[]",
        Effect::Reads,
        InLanes::Own},
       lanesReport},
      {{"lanesLosses",
        {},
        "Gives the tokens that all lanes took, and how surprising each was to each lane.",
        "LanesLosses",
        Effect::Reads,
        InLanes::Own},
       lanesLosses},
      {{"lanesDifference",
        {arg::integer("lane", 0, kMostLane), arg::integer("of", 0, kMostLane).orElse(0)},
        "Tells how a lane differs from another one, lane 0 unless given: rows by layer, exactness and the KL "
        "divergence of the next token.",
        "Difference",
        Effect::Measures,
        InLanes::Own},
       lanesDifference},
      {{"lanesNeedles",
        {arg::of("places", ArgType::LedgerIds)},
        "Sets the tokens whose survival the lanes report, as places among the tokens that all lanes took.",
        "null",
        Effect::Queues,
        InLanes::Own},
       needles},
  };
  return kVerbs;
}

}  // namespace kvlab
