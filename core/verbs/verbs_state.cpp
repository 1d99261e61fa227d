// SPDX-License-Identifier: Apache-2.0
// Verbs that change or restore a session without generating.
#include "core/session/policies.h"
#include "core/session/requests.h"
#include "core/session/storage.h"
#include "core/session/truth.h"
#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kMostId = (std::int64_t{1} << 31) - 1;

LedgerId ledgerId(VerbArgs& in) { return LedgerId(static_cast<std::int32_t>(in.integer("ledger", {}, 0, kMostId))); }

Result<json> done(const Status& status) {
  if (!status) return status.error();
  return json(nullptr);
}

Result<json> where(Session& session, const Status& status) {
  if (!status) return status.error();
  return json{{"tick", session.state().tick.value()}, {"branch", session.timeline().branch()}};
}

Result<json> setBrightness(Session& session, const json& args) {
  VerbArgs in(args);
  const LedgerId id = ledgerId(in);
  const double value = in.real("value", 0, 1e6);
  if (in.error()) return *in.error();
  return done(setBrightness(session, id, value));
}

Result<json> pin(Session& session, const json& args) {
  VerbArgs in(args);
  const LedgerId id = ledgerId(in);
  const bool on = in.flag("on", true);
  if (in.error()) return *in.error();
  return done(pin(session, id, on));
}

Result<json> opEvents(Session& session, const json& args) {
  VerbArgs in(args);
  const bool on = in.flag("on", true);
  if (in.error()) return *in.error();
  setOpEvents(session, on);
  return json(nullptr);
}

Result<json> rebuild(Session& session, const json&) {
  const auto start = std::chrono::steady_clock::now();
  Result<RebuildOutcome> outcome = session.rebuild();
  if (!outcome) return outcome.error();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return json{{"ms", ms},
              {"rows", session.state().length()},
              {"layers", outcome->layersDone},
              {"cancelled", outcome->cancelled}};
}

Result<json> fault(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string kind = in.text("kind");
  json params = json::object();
  for (const auto& [key, value] : args.items())
    if (key != "kind") params[key] = value;
  if (in.error()) return *in.error();
  return fault(session, kind, params);
}

/// A layer, or -1 where none is named.
int layerOrAll(VerbArgs& in, const Session& session) {
  return in.has("layer") ? static_cast<int>(in.integer("layer", {}, 0, session.cacheLayers().layers - 1)) : -1;
}

Result<json> setLayout(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string layout = in.text("layout");
  const int layer = layerOrAll(in, session);
  if (in.error()) return *in.error();
  return done(setLayout(session, layer, layout));
}

Result<json> setFormat(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string k = in.text("k", ""), v = in.text("v", "");
  const int layer = layerOrAll(in, session);
  if (k.empty() && v.empty()) in.fail("k", nullptr, "and v are missing");
  if (in.error()) return *in.error();
  return done(setFormat(session, layer, k, v));
}

Result<json> setPolicy(Session& session, const json& args) {
  VerbArgs in(args);
  if (!in.has("policy")) in.fail("policy", nullptr, "is missing");
  const int layer = layerOrAll(in, session);
  if (in.error()) return *in.error();
  Result<PolicySpec> spec = PolicySpec::fromJson(in.raw("policy"));
  if (!spec) return spec.error();
  return done(setPolicy(session, layer, *spec));
}

Result<json> setCapacity(Session& session, const json& args) {
  VerbArgs in(args);
  const std::int64_t rows = in.integer("rows", {}, 1, 1 << 24);
  if (in.error()) return *in.error();
  return done(setCapacity(session, rows));
}

Result<json> compact(Session& session, const json& args) {
  VerbArgs in(args);
  const std::int64_t rows = in.integer("rows", std::int64_t{1} << 40, 1, std::int64_t{1} << 40);
  if (in.error()) return *in.error();
  Result<Compaction> done = compact(session, rows);
  if (!done) return done.error();
  return json{{"rows", done->rows}, {"bytes", done->bytes}, {"done", done->done}};
}

Result<json> undo(Session& session, const json&) { return where(session, undo(session)); }
Result<json> redo(Session& session, const json&) { return where(session, redo(session)); }

Result<json> goTo(Session& session, const json& args) {
  VerbArgs in(args);
  const std::int64_t tick = in.integer("tick", {}, 0, std::int64_t{1} << 40);
  if (in.error()) return *in.error();
  return where(session, goTo(session, Tick(tick)));
}

Result<json> branches(Session& session, const json&) {
  json out = json::array();
  for (const Timeline::Branch& branch : session.timeline().branches())
    out.push_back({{"name", branch.name},
                   {"tick", session.timeline().entry(branch.tip).tick.value()},
                   {"current", branch.name == session.timeline().branch()}});
  return out;
}

Result<json> reset(Session& session, const json&) { return done(session.reset()); }

}  // namespace

std::span<const Verb> stateVerbs() {
  static const Verb kVerbs[] = {
      {{"setBrightness", {"ledger", "value"}, "Sets the brightness of a live token.", true}, setBrightness},
      {{"pin", {"ledger", "on"}, "Pins a token: it may not be culled or evicted.", true}, pin},
      {{"opEvents", {"on"}, "Lists every op call of a tick with its time and bytes among the events.", false},
       opEvents},
      {{"setLayout",
        {"layout", "layer"},
        "Stores the rows of a layer, or of all, in another layout; the content stays.",
        true},
       setLayout},
      {{"setFormat", {"k", "v", "layer"}, "Converts the K or V rows of a layer, or of all, to another type.", true},
       setFormat},
      {{"setPolicy",
        {"policy", "layer"},
        "Another eviction policy for a layer, or for all, from the next tick on.",
        true},
       setPolicy},
      {{"setCapacity",
        {"rows"},
        "Pools for so many rows per layer, with the content kept: frees what a policy has emptied.",
        true},
       setCapacity},
      {{"compact",
        {"rows"},
        "Fills pages by moving about so many rows per layer; done tells whether any are left.",
        false},
       compact},
      {{"rebuild", {}, "Computes every row anew from the live context.", true}, rebuild},
      {{"fault",
        {"kind", "layer", "index", "bit", "other", "column", "seed", "n"},
        "Fault drill: damages the cache or makes a step fail.",
        true},
       fault},
      {{"undo", {}, "Goes back by one commit.", false}, undo},
      {{"redo", {}, "Goes forward by one commit.", false}, redo},
      {{"goto", {"tick"}, "Goes to a tick of this branch; the future stays as a named branch.", false}, goTo},
      {{"branches", {}, "Lists the branches of the history.", false}, branches},
      {{"reset", {}, "Forgets all rows and starts over.", false}, reset},
  };
  return kVerbs;
}

}  // namespace kvlab
