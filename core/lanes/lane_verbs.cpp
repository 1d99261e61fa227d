// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lane_verbs.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/api/json_values.h"
#include "core/session/ticks.h"
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
  Stops stops(lanes.session(0));
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
  Stops stops(lanes.session(0));
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
      {verb::commits(
           "lanesOpen",
           {arg::of("lanes", ArgType::List).as("Manifest[]"), arg::flag("together", true),
            arg::of("needles", ArgType::LedgerIds).orNone()},
           "Opens lanes with the session as lane 0; each entry of the list has the manifest keys of one more lane.",
           "{ lanes: number }", InLanes::Opens),
       {}},
      {verb::commits("lanesClose", {arg::integer("lane", 0, kMostLane).orElse(0)},
                     "Closes the lanes and keeps the session of one of them.", "null", InLanes::Closes),
       {}},
      {verb::commits("lane",
                     {arg::integer("lane", 0, kMostLane), arg::of("verb", ArgType::Verb),
                      arg::of("args", ArgType::Arguments).orNone()},
                     "Runs a verb on one lane alone.", "any", InLanes::Own),
       one},
      {verb::reads("lanesReport", {}, "Gives one row per lane with its differences from lane 0.", "LaneReport[]",
                   InLanes::Own),
       lanesReport},
      {verb::reads("lanesLosses", {}, "Gives the tokens that all lanes took, and how surprising each was to each lane.",
                   "LanesLosses", InLanes::Own),
       lanesLosses},
      {verb::measures("lanesDifference",
                      {arg::integer("lane", 0, kMostLane), arg::integer("of", 0, kMostLane).orElse(0)},
                      "Tells how a lane differs from another one, lane 0 unless given: rows by layer, exactness and "
                      "the KL divergence of the next token.",
                      "Difference", InLanes::Own),
       lanesDifference},
      {verb::queues("lanesNeedles", {arg::of("places", ArgType::LedgerIds)},
                    "Sets the tokens whose survival the lanes report, as places among the tokens that all lanes took.",
                    "null", InLanes::Own),
       needles},
  };
  return kVerbs;
}

// --- of a batch

namespace {

constexpr std::int64_t kMostSequences = 256, kMostTicks = 1 << 24;

json toJson(const SequenceExit& exit) {
  json out{{"why", exit.why}, {"tick", exit.tick.value()}};
  if (exit.error) out["error"] = exit.error->toJson();
  return out;
}

json toJson(const Batch& batch, const BatchTick& tick) {
  json out{{"sequences", json::array()},
           {"together", tick.passes.together},
           {"weightBytes", tick.passes.weightBytes},
           {"us", tick.passes.us}};
  if (!tick.passes.together) out["apart"] = tick.passes.apart;
  for (int i = 0; i < batch.size(); ++i) {
    const BatchTick::Outcome& outcome = tick.sequences[at(i)];
    json row{{"sequence", i}, {"took", outcome.took}};
    for (const char* key : {"ok", "tick", "token", "text"})
      if (outcome.report.contains(key)) row[key] = outcome.report[key];
    if (outcome.error) row.update({{"ok", false}, {"error", outcome.error->toJson()}});
    if (batch.exit(i)) row["left"] = batch.exit(i)->why;
    out["sequences"].push_back(std::move(row));
  }
  return out;
}

Result<json> stepAll(Batch& batch, VerbArgs& in) {
  const std::int64_t ticks = in.integer("n");
  json out = json::array();
  for (std::int64_t i = 0; i < ticks && batch.steps(); ++i) {
    if (i > 0) batch.betweenTicks();
    if (ticks > 1 && !report(batch.progress(), "stepping a batch", i, ticks)) break;
    out.push_back(toJson(batch, batch.step()));
  }
  return out;
}

Result<json> promptAll(Batch& batch, VerbArgs& in) {
  const json& given = in.raw("prompts");
  const auto bad = [](const json& one) { return !one.is_null() && !one.is_string() && !one.is_array(); };
  if (given.size() != at(batch.size()))
    in.fail("prompts", given, "has not one entry for each of the " + std::to_string(batch.size()) + " sequences");
  else if (std::any_of(given.begin(), given.end(), bad))
    in.fail("prompts", given, "has an entry that is no text, no list of token ids and not null");
  for (int i = 0; !in.error() && i < batch.size(); ++i)
    if (!given[at(i)].is_null() && batch.released(i))
      in.fail("prompts", given, "has a prompt for sequence " + std::to_string(i) + ", which was released");
  if (in.error()) return *in.error();
  return toJson(batch, batch.prompt(given.get<std::vector<json>>()));
}

int sequenceOf(const Batch& batch, VerbArgs& in) {
  return static_cast<int>(in.within("sequence", 0, batch.size() - 1));
}

Result<json> callOne(Batch& batch, VerbArgs& in) {
  const int sequence = sequenceOf(batch, in);
  if (in.error()) return *in.error();
  return batch.call(sequence, in.text("verb"), in.has("args") ? in.raw("args") : json::object());
}

Result<json> releaseOne(Batch& batch, VerbArgs& in) {
  const int sequence = sequenceOf(batch, in);
  if (in.error()) return *in.error();
  KV_TRY(batch.release(sequence));
  return json(nullptr);
}

Result<json> batchReport(Batch& batch, VerbArgs&) {
  json out = json::array();
  for (int i = 0; i < batch.size(); ++i) {
    json row{{"sequence", i}, {"released", batch.released(i)}, {"left", nullptr}};
    if (batch.exit(i)) row["left"] = toJson(*batch.exit(i));
    if (!batch.released(i))
      row.update({{"tick", batch.session(i).state().tick.value()}, {"length", batch.session(i).state().length()}});
    out.push_back(std::move(row));
  }
  return out;
}

/// Groups count once in the total. Copies: bytes that as many sessions would take if they shared nothing.
Result<json> batchBytes(Batch& batch, VerbArgs&) {
  json rows = json::array();
  std::int64_t total = 0, copies = 0;
  std::set<const void*> counted;
  for (int i = 0; i < batch.size(); ++i) {
    if (batch.released(i)) continue;
    const PoolMemory memory = memoryOf(batch.session(i));
    rows.push_back({{"sequence", i}, {"own", memory.own}, {"shared", memory.shared}});
    total += memory.own;
    copies += memory.own + memory.shared;
    for (const auto& [group, bytes] : memory.groups)
      if (counted.insert(group).second) total += bytes;
  }
  return json{{"sequences", rows}, {"total", total}, {"copies", copies}};
}

}  // namespace

Result<json> execute(Batch& batch, const std::string& name, const json& given) {
  const std::span<const Verb> all = batchVerbs();
  const auto verb = std::find_if(all.begin(), all.end(), [&](const Verb& one) { return one.info.name == name; });
  const RunsOnBatch* run = verb == all.end() ? nullptr : std::get_if<RunsOnBatch>(&verb->run);
  if (!run) return batch.call(name, given);
  const json none = json::object();
  VerbArgs in(verb->info.args, given.is_null() ? none : given);
  Result<json> result = in.error() ? Result<json>(*in.error()) : (*run)(batch, in);
  return result ? std::move(result) : VerbArgs::completed(result.error(), name, verb->info.args);
}

std::span<const Verb> batchVerbs() {
  static const Verb kVerbs[] = {
      {verb::commits("batchOpen", {arg::integer("size", 1, kMostSequences), arg::flag("together", true)},
                     "Makes a batch of so many sequences: the session and forks of it.", "{ sequences: number }",
                     InLanes::OpensBatch),
       {}},
      {verb::commits("batchClose", {arg::integer("sequence", 0, kMostSequences - 1).orElse(0)},
                     "Ends the batch and keeps the session of one sequence.", "null", InLanes::ClosesBatch),
       {}},
      {verb::commits(
           "batchPrompts", {arg::of("prompts", ArgType::List).as("(string | number[] | null)[]")},
           "Appends a text or token ids to each sequence, in passes made together; null for a sequence that gets none.",
           "BatchTick", InLanes::Batch),
       promptAll},
      {verb::commits("batchStep", {arg::integer("n", 1, kMostTicks).orElse(1)},
                     "Runs ticks of all sequences until each has left: one token each, sampled by each for itself. "
                     "There are fewer than n where all have left.",
                     "BatchTick[]", InLanes::Batch),
       stepAll},
      {verb::commits("sequence",
                     {arg::integer("sequence", 0, kMostSequences - 1), arg::of("verb", ArgType::Verb),
                      arg::of("args", ArgType::Arguments).orNone()},
                     "Runs a verb on one sequence of a batch alone.", "any", InLanes::Batch),
       callOne},
      {verb::commits("batchRelease", {arg::integer("sequence", 0, kMostSequences - 1)},
                     "Ends one sequence of a batch and frees the memory that it has for itself.", "null",
                     InLanes::Batch),
       releaseOne},
      {verb::reads("batchReport", {}, "Gives one row per sequence: tick, length, why it left.", "SequenceReport[]",
                   InLanes::Batch),
       batchReport},
      {verb::reads("batchBytes", {},
                   "Counts memory of the pools of each sequence, its own and shared, and of all together.",
                   "BatchBytes", InLanes::Batch),
       batchBytes},
  };
  return kVerbs;
}

}  // namespace kvlab
