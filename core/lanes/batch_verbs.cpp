// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lane_verbs.h"

#include <algorithm>
#include <set>

#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
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
      {{"batchOpen",
        {arg::integer("size", 1, kMostSequences), arg::flag("together", true)},
        "Makes a batch of so many sequences: the session and forks of it.",
        "{ sequences: number }",
        Effect::Commits,
        InLanes::OpensBatch},
       {}},
      {{"batchClose",
        {arg::integer("sequence", 0, kMostSequences - 1).orElse(0)},
        "Ends the batch and keeps the session of one sequence.",
        "null",
        Effect::Commits,
        InLanes::ClosesBatch},
       {}},
      {{"batchPrompts",
        {arg::of("prompts", ArgType::List).as("(string | number[] | null)[]")},
        "Appends a text or token ids to each sequence, in passes made together; null for a sequence that gets none.",
        "BatchTick",
        Effect::Commits,
        InLanes::Batch},
       promptAll},
      {{"batchStep",
        {arg::integer("n", 1, kMostTicks).orElse(1)},
        "Runs ticks of all sequences until each has left: one token each, sampled by each for itself. There are fewer "
        "than n where all have left.",
        "BatchTick[]",
        Effect::Commits,
        InLanes::Batch},
       stepAll},
      {{"sequence",
        {arg::integer("sequence", 0, kMostSequences - 1), arg::of("verb", ArgType::Verb),
         arg::of("args", ArgType::Arguments).orNone()},
        "Runs a verb on one sequence of a batch alone.",
        "any",
        Effect::Commits,
        InLanes::Batch},
       callOne},
      {{"batchRelease",
        {arg::integer("sequence", 0, kMostSequences - 1)},
        "Ends one sequence of a batch and frees the memory that it has for itself.",
        "null",
        Effect::Commits,
        InLanes::Batch},
       releaseOne},
      {{"batchReport",
        {},
        "Gives one row per sequence: tick, length, why it left.",
        "SequenceReport[]",
        Effect::Reads,
        InLanes::Batch},
       batchReport},
      {{"batchBytes",
        {},
        "Counts memory of the pools of each sequence, its own and shared, and of all together.",
        "BatchBytes",
        Effect::Reads,
        InLanes::Batch},
       batchBytes},
  };
  return kVerbs;
}

}  // namespace kvlab
