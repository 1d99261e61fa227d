// SPDX-License-Identifier: Apache-2.0
// Verbs that compare the present state with others: other ticks, branches, captures and cache files.
#include <filesystem>
#include <fstream>

#include "core/api/json_values.h"
#include "core/session/edit_words.h"
#include "core/session/past.h"
#include "core/session/requests.h"
#include "core/session/truth.h"
#include "core/verbs/cache_session.h"
#include "core/verbs/capture_session.h"
#include "core/verbs/foreign_session.h"
#include "core/verbs/replies.h"
#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

json rowJson(LedgerId row, LedgerId then) {
  json out{{"ledger", row.value()}};
  if (then != row) out["ledgerThen"] = then.value();
  return out;
}

json layerJson(const Session& session, const LayerDifference& one) {
  const std::optional<Head> part = session.cacheLayers().headOf(one.layer);
  json changed = json::array();
  for (const RowDifference& row : one.changed) {
    changed.push_back(rowJson(row.row, row.rowThen));
    changed.back().update({{"phase", {row.phaseThen, row.phaseNow}}, {"k", finite(row.k)}, {"v", finite(row.v)}});
  }
  return {{"layer", session.cacheLayers().layerOf(one.layer).value()},
          {"kvHead", part ? json(part->value()) : json()},
          {"type", {one.typeThen, one.typeNow}},
          {"onlyThen", ledgerList(one.onlyThen)},
          {"onlyNow", ledgerList(one.onlyNow)},
          {"changed", std::move(changed)},
          {"moved", one.moved},
          {"same", one.same}};
}

/// Texts of rows that only the other state has, where the present ledger has another token under their id, or none.
json textsThen(const StateDifference& found, const Session& then, const Session& now) {
  const Ledger &before = then.state().ledger, &present = now.state().ledger;
  json out = json::object();
  const auto add = [&](const std::vector<LedgerId>& rows) {
    for (const LedgerId row : rows)
      if (!present.contains(row) || present[row].token != before[row].token)
        out[std::to_string(row.value())] = textOf(then, row);
  };
  add(found.onlyThen);
  for (const LayerDifference& layer : found.layers) add(layer.onlyThen);
  return out;
}

/// Compares, and leaves the rows to tiles if `now` is the session itself.
Result<json> compared(Session& then, Session& now) {
  const auto found = std::make_shared<const StateDifference>(KV_TRY(difference(then, now)));
  now.measured().difference = found;
  now.publish();
  return toJson(*found, then, now);
}

/// The state that is named; for a branch without a tick the one at the present tick, or its last one.
Result<Session*> namedState(Session& session, VerbArgs& in) {
  const std::string branch = in.text("branch");
  if (in.has("tick")) return sessionAt(session, Tick(in.integer("tick")), branch);
  const Timeline& timeline = session.timeline();
  const int number = KV_TRY(branchNamed(session, branch));
  const Tick last = timeline.entry(timeline.branches()[at(number)].tip).tick;
  return sessionAt(session, std::min(session.state().tick, last), branch);
}

Result<json> differenceVerb(Session& session, VerbArgs& in) {
  if (in.has("tick") || in.has("branch")) {
    Session* then = KV_TRY(namedState(session, in));
    return compared(*then, session);
  }
  const int before = KV_TRY(beforeLastEdit(session.timeline()));
  Session* then = KV_TRY(session.past().at(session, before));
  json out = KV_TRY(compared(*then, session));
  const Timeline& timeline = session.timeline();
  for (int id = timeline.currentId(); id > before; id = timeline.beforeEdit(id)) out["edit"] = editTitle(timeline, id);
  return out;
}

Result<json> firstDifferenceVerb(Session& session, VerbArgs& in) {
  const std::optional<Tick> tick = KV_TRY(firstDifference(session, in.text("branch")));
  return tick ? json(tick->value()) : json();
}

bool isCapture(const std::string& path) {
  static const std::string kBegin = "kvlab-capture";
  std::string begin(kBegin.size(), ' ');
  std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin));
  return begin == kBegin;
}

/// The session that a capture leads to, at a tick or its end.
Result<std::unique_ptr<Session>> replayed(const Session& like, const std::string& path, std::optional<Tick> to) {
  Replay replay = KV_TRY(replayCapture(path, like.parts().resources, {.to = to}, like.progress()));
  if (!replay.ok())
    for (const ReplayStep& step : replay.steps)
      if (step.error) return *step.error;
  return std::move(replay.session);
}

/// A session like this one with the content of a cache file.
Result<std::unique_ptr<Session>> loaded(const Session& like, const std::string& path) {
  std::unique_ptr<Session> out = KV_TRY(like.beside(like.manifest()));
  KV_TRY(loadCache(*out, path, {}));
  return out;
}

Result<json> differenceFrom(Session& session, VerbArgs& in) {
  const std::string path = in.text("path");
  const bool capture = isCapture(path);
  if (in.has("tick") && !capture && std::filesystem::exists(path))
    in.fail("tick", in.raw("tick"), "a cache file has one state and no ticks");
  if (in.error()) return *in.error();
  if (isForeignCache(path)) {
    const std::shared_ptr<const ExplainedFile> file = KV_TRY(explainFile(session, path));
    const std::unique_ptr<Session> theirs = KV_TRY(explainedSession(session, file->explanation, path));
    json out = KV_TRY(compared(*theirs, session));
    addExplanation(out, file->explanation, *theirs, session);
    return out;
  }
  std::optional<Tick> to;
  if (in.has("tick")) to = Tick(in.integer("tick"));
  const std::unique_ptr<Session> then = KV_TRY(capture ? replayed(session, path, to) : loaded(session, path));
  return compared(*then, session);
}

}  // namespace

json toJson(const StateDifference& found, const Session& then, const Session& now) {
  json layers = json::array(), exactness = json::array();
  for (const LayerDifference& one : found.layers) layers.push_back(layerJson(now, one));
  for (const ExactnessDifference& one : found.exactness) {
    exactness.push_back(rowJson(one.row, one.rowThen));
    exactness.back().update({{"then", name(one.then)}, {"now", name(one.now)}});
  }
  return {{"then", found.then.value()},
          {"now", found.now.value()},
          {"alike", found.alike()},
          {"kl", found.kl ? json(finite(*found.kl)) : json()},
          {"onlyThen", ledgerList(found.onlyThen)},
          {"onlyNow", ledgerList(found.onlyNow)},
          {"textsThen", textsThen(found, then, now)},
          {"exactness", std::move(exactness)},
          {"layers", std::move(layers)}};
}

std::span<const Verb> compareVerbs() {
  static const Verb kVerbs[] = {
      {verb::measures(
           "difference", {arg::integer("tick", 0, kMostId).orNone(), arg::text("branch").orNone()},
           "Tells how the present state differs from that of another tick of the branch, or of another branch: tokens, "
           "rows by layer, exactness and the KL divergence of the next token. Without both, it compares with the state "
           "before the last edit that did more than generate. s.at(40).difference(12) compares two older ticks.",
           "Difference"),
       differenceVerb},
      {verb::measures(
           "differenceFrom", {arg::reads("path"), arg::integer("tick", 0, kMostId).orNone()},
           "Tells how the present state differs from what a capture leads to, at its end or at a tick, or "
           "from a cache file. The cache file of another program (llama.cpp, vLLM, transformers, ...) is read "
           "as the smallest explanation of its rows says; the answer has the explanation.",
           "Difference"),
       differenceFrom},
      {verb::measures("firstDifference", {arg::text("branch")},
                      "Finds the first tick at which the present branch and another one differ in anything that "
                      "stateHash() covers, executed from where they part; null if one only goes on from the other.",
                      "number | null"),
       firstDifferenceVerb},
  };
  return kVerbs;
}

}  // namespace kvlab
