// SPDX-License-Identifier: Apache-2.0
// Verbs that change or restore a session without generating.
#include <algorithm>

#include "core/analysis/metrics.h"
#include "core/api/read_json.h"
#include "core/bugs/bug_kind.h"
#include "core/session/edit_words.h"
#include "core/session/look_back.h"
#include "core/session/observe.h"
#include "core/session/requests.h"
#include "core/session/settings.h"
#include "core/session/storage.h"
#include "core/session/truth.h"
#include "core/verbs/verb_layers.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kAllRows = std::int64_t{1} << 40, kMostSeed = (std::int64_t{1} << 53) - 1;

LedgerId ledgerId(const VerbArgs& in) { return LedgerId(static_cast<std::int32_t>(in.integer("ledger"))); }

Result<json> done(const Status& status) {
  if (!status) return status.error();
  return json(nullptr);
}

Result<json> where(Session& session, const Status& status) {
  if (!status) return status.error();
  return json{{"tick", session.state().tick.value()}, {"branch", session.timeline().branch()}};
}

Result<json> setBrightnessVerb(Session& session, VerbArgs& in) {
  return done(setBrightness(session, ledgerId(in), in.number("value")));
}

Result<json> pinVerb(Session& session, VerbArgs& in) { return done(pin(session, ledgerId(in), in.flag("on"))); }

/// The labels of the last layer's rows that a rebuild removes: how many rows differ from the rebuild, and how many came
/// from a file. Null where nobody keeps them.
json labelsOf(const Session& session) {
  if (!session.manifest().probes) return {{"stale", nullptr}, {"loaded", nullptr}};
  const std::vector<Exactness> labels = lastLayerExactness(session);
  const auto exact = std::ranges::count(labels, Exactness::Exact),
             loaded = std::ranges::count(labels, Exactness::Loaded);
  return {{"stale", std::ssize(labels) - exact - loaded}, {"loaded", loaded}};
}

/// Says the drift that the rebuild has ended.
Result<json> rebuildVerb(Session& session, VerbArgs&) {
  const CacheState& state = session.state();
  json out = labelsOf(session);
  const std::vector<float> before = state.logits && !state.logitsStale ? *state.logits : std::vector<float>();
  const auto start = std::chrono::steady_clock::now();
  const RebuildOutcome outcome = KV_TRY(session.rebuild());
  out["ms"] = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  out["rows"] = state.length();
  out["layers"] = outcome.layersDone;
  out["cancelled"] = outcome.cancelled;
  const bool both = !before.empty() && before.size() == outcome.logits.size();
  out["kl"] = both ? json(klDivergence(outcome.logits, before)) : json(nullptr);
  return out;
}

Result<json> faultVerb(Session& session, VerbArgs& in) {
  json params = in.all();
  params.erase("kind");
  return fault(session, in.text("kind"), params);
}

Result<json> bugVerb(Session& session, VerbArgs& in) {
  if (in.has("blind")) {
    if (!in.text("name").empty()) in.fail("blind", in.raw("blind"), "and name are given");
    const std::int64_t seed = in.integer("blind");
    if (in.error()) return *in.error();
    KV_TRY(plantBug(session, std::string(bugDrawn(static_cast<std::uint64_t>(seed)).name)));
    return json{{"blind", seed}};
  }
  KV_TRY(plantBug(session, in.text("name")));
  const BugKind* bug = session.parts().faults.bug();
  if (!bug) return json();
  return json{{"name", bug->name}, {"title", bug->title}};
}

std::vector<ArgInfo> settingsArgs() {
  std::vector<ArgInfo> out;
  for (const std::string_view key : livingKeys()) out.push_back(arg::of(std::string(key), ArgType::Key).orNone());
  return out;
}

std::string wordIn(const json& from, const std::string& key) { return memberOr(from, key, std::string()); }

void say(std::string& all, const std::string& more) { all += (all.empty() || more.empty() ? "" : ", ") + more; }

/// Words for the keys that all layers have, or some.
std::string storageWords(const json& keys) {
  std::string out;
  const std::string layout = wordIn(keys, "layout");
  if (!layout.empty()) say(out, "layout " + layout);
  const json kv = keys.value("kv", json::object());
  std::string types;
  for (const auto& [name, title] : {std::pair("k", "K "), std::pair("v", "V ")})
    if (const std::string type = wordIn(kv, name); !type.empty()) say(types, title + type);
  if (!types.empty()) say(out, "format " + types);
  const json policy = keys.value("policy", json());
  const std::string name = policy.is_object() ? wordIn(policy, "name") : wordIn(keys, "policy");
  if (!name.empty()) say(out, "policy " + name);
  return out;
}

std::string settingsWords(const json& args, const EditWords&) {
  std::string out = storageWords(args), rules;
  if (args.contains("capacity")) say(out, "capacity " + args["capacity"].dump());
  for (const json& one : args.value("layers", json::array())) {
    const json match = one.value("match", json());
    say(out, storageWords(one) + " of layer " + (match.is_string() ? match.get<std::string>() : match.dump()));
  }
  for (const auto& [key, value] : args.items())
    if (key != "layout" && key != "kv" && key != "policy" && key != "capacity" && key != "layers") say(rules, key);
  if (!rules.empty()) say(out, "rule " + rules);
  return out;
}

Result<json> settingsVerb(Session& session, VerbArgs& in) {
  json change = json::object();
  for (const ArgInfo& key : settingsArgs())
    if (in.has(key.name.c_str())) change[key.name] = in.raw(key.name.c_str());
  if (change.empty()) in.fail("args", in.all(), "name no setting");
  if (in.error()) return *in.error();
  KV_TRY(noDraft(session, "the settings were not changed"));
  return done(changeSettings(session, change));
}

Result<json> compactVerb(Session& session, VerbArgs& in) {
  KV_TRY(noDraft(session, "nothing was compacted"));
  Compaction done = KV_TRY(compact(session, in.integer("rows", kAllRows)));
  return json{{"rows", done.rows}, {"bytes", done.bytes}, {"done", done.done}};
}

std::vector<ArgInfo> stepArgs() {
  return {arg::integer("n", 1, kAllRows).orElse(1), arg::text("by", {"tick", "edit"}).orElse("tick")};
}

Result<json> through(Session& session, VerbArgs& in, Status (*step)(Session&, std::int64_t, HistoryStep)) {
  const HistoryStep by = in.text("by") == "edit" ? HistoryStep::Edit : HistoryStep::Commit;
  return where(session, step(session, in.integer("n"), by));
}

Result<json> undoVerb(Session& session, VerbArgs& in) { return through(session, in, undo); }
Result<json> redoVerb(Session& session, VerbArgs& in) { return through(session, in, redo); }

Result<json> goToVerb(Session& session, VerbArgs& in) {
  const Tick tick(in.integer("tick"));
  return where(session, in.has("branch") ? goTo(session, tick, in.text("branch")) : goTo(session, tick));
}

/// The condition that was given, or those of the breakpoints that can be asked of a commit.
Result<std::vector<Expression>> askedConditions(Session& session, const VerbArgs& in) {
  std::vector<Expression> out;
  if (in.has("condition")) {
    out.push_back(KV_TRY(readExpression(session, in.text("condition"), true)));
    return out;
  }
  for (const Breakpoints::Point& point : session.breakpoints().points())
    if (point.view.enabled && !point.condition.needs(Need::Stage)) out.push_back(point.condition);
  if (!out.empty()) return out;
  return Error("no_breakpoint", "the history was not searched", "no breakpoint stands behind a tick",
               "set one with break, or give a condition", "condition", nullptr);
}

Result<json> runBackVerb(Session& session, VerbArgs& in) {
  const std::vector<Expression> conditions = KV_TRY(askedConditions(session, in));
  const Held held = KV_TRY(runBack(session, conditions));
  json out = KV_TRY(where(session, ok()));
  out["stoppedBy"] = held.by ? json(held.by->text()) : json();
  return out;
}

Result<json> atVerb(Session& session, VerbArgs& in) {
  const std::string verb = in.text("verb");
  const VerbInfo* info = verbNamed(verb);
  if (!info) return unknownVerb(verb);
  if (info->name == "at" || (info->effect != Effect::Reads && info->effect != Effect::Measures))
    return Error("not_a_query", verb + " was not asked", "another tick can only be read and measured",
                 "go there with goto, or fork the session there", "verb", verb);
  Session* there = KV_TRY(sessionAt(session, Tick(in.integer("tick")), in.text("branch")));
  return execute(*there, verb, in.has("args") ? in.raw("args") : json::object());
}

Result<json> reset(Session& session, VerbArgs&) { return done(session.reset()); }

}  // namespace

std::span<const Verb> stateVerbs() {
  static const Verb kVerbs[] = {
      {verb::commits("setBrightness", {arg::integer("ledger", 0, kMostId), arg::number("value", 0, 1e6)},
                     "Sets the brightness of a live token.", "null", InLanes::Reference, EditSort::Setting),
       setBrightnessVerb,
       [](const json& args, const EditWords& words) { return "brightness of " + words.row(args, "ledger"); }},
      {verb::commits(
           "pin", {arg::integer("ledger", 0, kMostId), arg::flag("on", true)},
           "Pins a token: no policy may cull or evict a pinned token, and no kind of session may let it collapse.",
           "null", InLanes::Reference, EditSort::Setting),
       pinVerb,
       [](const json& args, const EditWords& words) {
         return (memberOr(args, "on", true) ? "pin " : "unpin ") + words.row(args, "ledger");
       }},
      {verb::commits(
           "settings", settingsArgs(),
           "Gives the living session other values of these manifest keys, all or none, in one edit, from the next tick "
           "on, as in settings({ policy: \"h2o:ratio=0.25\", kv: { k: \"int8\" } }). Keys that are left out stay as "
           "they are. layout, kv and policy hold for every layer, except where layers of the call says otherwise. Keys "
           "that shape a session (model, backend, residency, ring.window, ...) stay. capacity makes the pools anew for "
           "so many rows per layer, which frees the memory of evicted ones. op_events alone is no edit.",
           "null", InLanes::Reference, EditSort::Setting),
       settingsVerb, settingsWords},
      {verb::queues("compact", {arg::integer("rows", 1, kAllRows).orNone()},
                    "Fills pages of paged layers by moving about so many rows per layer; done tells whether none are "
                    "left. Call it again until it is done.",
                    "{ rows: number; bytes: number; done: boolean }"),
       compactVerb},
      {verb::commits("rebuild", {},
                     "Computes every row again from the live context, and tells how far the live rows were from that. "
                     "Damaged maps "
                     "and slots are made anew.",
                     "RebuildReport", InLanes::Reference, EditSort::Rebuild),
       rebuildVerb},
      {verb::commits("fault",
                     {arg::text("kind"), arg::integer("layer", 0, kMostLayer).orNone(),
                      arg::integer("index", 0, kMostId).orNone(), arg::integer("bit", 0, kMostId).orNone(),
                      arg::integer("other", 0, kMostId).orNone(), arg::text("column").orNone(),
                      arg::integer("seed", 0, kMostSeed).orNone(), arg::integer("n", 1, kAllRows).orNone()},
                     "Fault drill: damages the cache or makes a step fail. The manifest must have faults: true. layer "
                     "counts cache layers.",
                     "FaultDone", InLanes::Reference, EditSort::Damage),
       faultVerb, [](const json& args, const EditWords&) { return "fault " + memberOr(args, "kind", std::string()); }},
      {verb::queues("bug", {arg::text("name").orElse(""), arg::integer("blind", 0, kMostSeed).orNone()},
                    "Bug clinic: plants a known bug of KV caches. From now on live passes do what the bug does. "
                    "Without a name the bug goes. blind is a number that draws a bug, whose name stays secret. The "
                    "manifest must have faults: true. History does not know of the bug.",
                    "PlantedBug | null"),
       bugVerb},
      {verb::travels("undo", stepArgs(),
                     "Goes back by n commits, or with by \"edit\" by n edits: all that one command did, or single "
                     "ticks in a row.",
                     "Where"),
       undoVerb},
      {verb::travels("redo", stepArgs(), "Goes forward by n commits or n edits.", "Where"), redoVerb},
      {verb::travels("goto", {arg::integer("tick", 0, kAllRows), arg::text("branch").orNone()},
                     "Goes to a tick of this branch, or of a named one, which becomes the current one; the future "
                     "stays as a named branch. While a capture runs no branch can be named.",
                     "Where"),
       goToVerb},
      {verb::travels(
           "runBack", {arg::text("condition").orNone()},
           "Goes back to the last commit before the present state at which a condition held, such as "
           "\"written(ledger==12, layer==3)\", \"stale(ledger==12)\" or \"kl > 0.05\": as a debugger runs back to its "
           "last stop. Without a condition the breakpoints are asked. stoppedBy names what held. The future stays as a "
           "named branch. Where none ever held, the session stays, and stoppedBy is null.",
           "Where & { stoppedBy: string | null }"),
       runBackVerb},
      {verb::measures("at",
                      {arg::integer("tick", 0, kAllRows), arg::of("verb", ArgType::Verb),
                       arg::of("args", ArgType::Arguments).orNone(), arg::text("branch").orNone()},
                      "Tells what a verb that reads or measures would have said after another tick of the branch, or "
                      "of another branch; the session stays where it is.",
                      "any"),
       atVerb},
      {verb::reads("timeline", {arg::integer("since", 0, kMostId).orElse(0), arg::flag("packed", false)},
                   "Gives the history as a tree of entries: parents, ticks, edits in words, rows that left, branches, "
                   "and which states are kept. With since only entries from there on come. With packed, columns of "
                   "numbers come as bytes, as the window takes them.",
                   "Timeline"),
       timelineVerb},
      {verb::travels("reset", {}, "Forgets all rows and starts over.", "null"), reset},
  };
  return kVerbs;
}

}  // namespace kvlab
