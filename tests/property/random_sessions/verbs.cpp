// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/verbs.h"

#include <algorithm>

#include "property/random_sessions/actions.h"
#include "property/random_sessions/manifests.h"

namespace kvlab::random_sessions {
namespace {

json nothing(Drawing&) { return json::object(); }
json pastCondition(Drawing& in) {
  return {{"condition",
           in.draw.one({"evicted", "moved(layer==0)", "stale", "kl > 0.01", "length % 5 == 0", "wrap or replaced",
                        "read(layer==1) > 0.5", "changed(rows)"})}};
}
json steps(Drawing& in) {
  json args = json::object();
  if (in.draw.percent(20)) args["n"] = in.draw.between(1, 3);
  if (in.draw.percent(30)) args["by"] = "edit";
  return args;
}
json layered(Drawing& in) { return drawLayer(in); }

std::string freshPath(Drawing& in) { return "@" + std::to_string(++in.files); }

json tokens(Drawing& in) {
  const bool wlod = in.session.manifest().wlod.has_value();
  return {{"ids", drawTokens(in, wlod && in.draw.percent(30) ? 90 : 10)}};
}

json prefill(Drawing& in) {
  json out = tokens(in);
  out["last"] = in.draw.percent(50);
  return out;
}

json score(Drawing& in) {
  json out = tokens(in);
  out["each"] = in.draw.percent(40);
  return out;
}

json chat(Drawing& in) {
  json messages = json::array();
  for (int i = in.draw.between(1, 2); i > 0; --i) messages.push_back({{"role", "user"}, {"content", drawText(in, 6)}});
  return {{"messages", messages},
          {"template", "{% for m in messages %}{{ m.content }}{% if add_generation_prompt %};{% endif %}{% endfor %}"},
          {"addGenerationPrompt", in.draw.percent(50)},
          {"more", in.draw.percent(80)}};
}

json step(Drawing& in) {
  if (in.draw.percent(40)) return {{"tokens", drawTokens(in, 4)}};
  return {{"n", in.draw.between(1, 4)}};
}

json stage(Drawing& in) {
  if (in.session.stage() || in.draw.percent(70)) return json::object();
  return {{"tokens", drawTokens(in, in.session.manifest().ring.blockTokens)}};
}

json evict(Drawing& in) {
  json out = drawEviction(in);
  out["now"] = in.draw.percent(50);
  return out;
}

template <bool expand>
json node(Drawing& in) {
  json out{{"node", drawNode(in, expand)}, {"now", in.draw.percent(50)}};
  if (expand) out["room"] = in.draw.percent(30);
  return out;
}

json scores(Drawing& in) {
  json out = json::array();
  const int entries = in.draw.percent(80) ? lengthOf(in.session) : in.draw.between(1, 12);
  for (int i = 0; i < entries; ++i) out.push_back(in.draw.share());
  return {{"scores", out}};
}

/// Faults that make a step fail. Faults that damage rows rightly break invariants and are no part of this driver.
json fault(Drawing& in) {
  return {{"kind", in.draw.one({"allocation", "kernel", "copy", "unheard_of"})}, {"n", in.draw.between(1, 12)}};
}

json save(Drawing& in) {
  const std::string path = freshPath(in);
  if (in.draw.percent(20)) return {{"path", path}, {"form", in.draw.one({"llama_cpp", "vllm_cpu", "vllm_cuda"})}};
  in.saved.push_back(path);
  return {{"path", path}, {"form", in.draw.one({"native", "native", "hf_dynamic", "hf_tuple"})}};
}

json load(Drawing& in) {
  if (in.saved.empty()) return {{"path", freshPath(in)}};
  json out{{"path", in.draw.one(in.saved)}};
  if (in.draw.percent(25)) out["verify"] = true;
  return out;
}

json rows(Drawing& in) {
  json out = drawLayer(in);
  if (in.draw.percent(50)) out["begin"] = 0;
  if (in.draw.percent(50)) out["view"] = "committed_plus_pending";
  return out;
}

json oneRow(Drawing& in) {
  json out = drawLayer(in);
  out["index"] = in.draw.below(lengthOf(in.session));
  out["which"] = in.draw.one({"k", "v", "both"});
  out["rotated"] = in.draw.percent(50);
  if (in.draw.percent(50)) out["compare"] = in.draw.one({"rebuild", "before"});
  return out;
}

json matrix(Drawing& in) {
  json out = drawLayer(in);
  if (in.draw.percent(60)) out["begin"] = in.draw.below(lengthOf(in.session));
  if (in.draw.percent(60)) out["head"] = in.draw.one({0, 1, 40});
  out["packed"] = in.draw.percent(50);
  return out;
}

/// One of the rules, or several.
json rules(Drawing& in) {
  const json drawn = drawManifest(in.draw);
  json out = json::object();
  for (const char* key : {"after_edit", "executor", "sampling", "position", "check", "brightness"})
    if (drawn.contains(key) && in.draw.percent(40)) out[key] = drawn[key];
  if (out.contains("brightness") && in.draw.percent(90)) out["brightness"].erase("max");  // no living session takes it
  if (out.empty() || in.draw.percent(20)) out["ring"] = {{"block_tokens", in.draw.one({1, 1, 2, 3})}};
  return out;
}

json drawnTypes(Drawing& in) {
  json out{{"v", drawRowType(in.draw)}};
  if (in.draw.percent(80)) out["k"] = drawRowType(in.draw);
  return out;
}

/// Settings of one sort, for all layers or one.
json settingsOfSort(Drawing& in) {
  const int sort = in.draw.between(0, 26);
  if (sort < 6) return rules(in);
  if (sort < 11) return {{"capacity", in.draw.one({16, 24, 64, 200})}};
  if (sort < 12) return {{"op_events", in.draw.percent(30)}};
  json out = json::object();
  if (sort < 17) out["layout"] = drawLayout(in.draw);
  else if (sort < 22) out["kv"] = drawnTypes(in);
  else out["policy"] = drawPolicy(in.draw);
  if (in.draw.percent(55)) return out;
  out["match"] = drawLayer(in)["layer"];
  return {{"layers", json::array({out})}};
}

/// One call changes one sort of settings, or several.
json settings(Drawing& in) {
  json out = settingsOfSort(in);
  while (in.draw.percent(25)) out.update(settingsOfSort(in));
  return out;
}

/// A question to a table of the session: its subject, columns, condition and number of rows.
json question(Drawing& in) {
  const json row{{"ledger", in.draw.below(24)}}, layer{{"ledger", in.draw.below(24)}, {"layer", in.draw.below(3)}};
  const auto of = in.draw.one<std::pair<const char*, json>>(
      {{"rows", rows(in)},
       {"rows", rows(in)},
       {"ledger", json{{"id", drawLedger(in)}}},
       {"ledger", json{{"live", in.draw.percent(50)}}},
       {"state", json::object()},
       {"state", json::object()},
       {"ticks", json{{"newest", in.draw.percent(50)}, {"since", in.draw.below(6)}}},
       {"ticks", json::object()},
       {"ticks", json::object()},
       {"branches", json::object()},
       {"edits", json{{"most", in.draw.between(1, 9)}}},
       {"history", row},
       {"story", layer},
       {"story", layer},
       {"reads", layer},
       {"decisions", in.draw.percent(50) ? row : json{{"tick", in.draw.below(6)}}},
       {in.draw.one({"breaks", "watches", "notes", "bugs", "facts"}), json::object()},
       {"invariants", json::object()},
       {"topk", json{{"k", in.draw.between(1, 20)}}}});
  const std::string name = of.first;
  json out = tableArgs(name, of.second);
  if (in.draw.percent(25)) out["limit"] = in.draw.between(1, 3);
  if (in.draw.percent(10)) out["begin"] = in.draw.below(4);
  if (name == "rows" && in.draw.percent(40))
    out["where"] =
        in.draw.one({"brightness > 40", "exactness != 'exact'", "read > 0.1 and index > 2", "kl > 0", "moved"});
  if (name == "ledger" && in.draw.percent(60))
    out["where"] = in.draw.one({"brightness > 40", "not pinned", "read > 0.1", "state == 'live' and kl > 0"});
  if (name == "ticks" && in.draw.percent(70)) out["where"] = pastCondition(in)["condition"];
  if (name == "ticks" && in.draw.percent(30))
    out["columns"] = {"tick", in.draw.one({"surprise", "kl", "rows(layer==0)"})};
  return out;
}

struct Maker {
  const char* verb;
  int weight;  // relative frequency
  bool reads;
  json (*args)(Drawing& in);
};

const Maker kMakers[] = {
    {"prompt", 12, false,
     [](Drawing& in) -> json {
       return {{"text", drawText(in, 12)}};
     }},
    {"promptIds", 14, false, tokens},
    {"prefill", 8, false, prefill},
    {"chat", 3, false, chat},
    {"score", 2, false,
     [](Drawing& in) -> json {
       return {{"text", drawText(in, 12)}};
     }},
    {"scoreIds", 6, false, score},
    {"endPrefill", 5, false, nothing},
    {"step", 26, false, step},
    {"stepAction", 7, false, nothing},
    {"stage", 1, true, nothing},
    {"stepStage", 9, false, stage},
    {"finishTick", 2, false, nothing},
    {"cancelTick", 1, false, nothing},
    {"run", 5, false,
     [](Drawing& in) -> json {
       return {{"maxTicks", in.draw.between(1, 6)}, {"reports", in.draw.between(1, 8)}};
     }},
    {"inject", 18, false,
     [](Drawing& in) -> json {
       return {{"actions", drawActions(in)}, {"instead", in.draw.percent(20)}};
     }},
    {"clearPending", 2, false, nothing},
    {"plan", 3, true,
     [](Drawing& in) -> json {
       return {{"actions", drawActions(in)}, {"instead", in.draw.percent(20)}};
     }},
    {"apply", 14, false, nothing},
    {"evict", 9, false, evict},
    {"changeBreak", 1, false,
     [](Drawing& in) -> json {
       return {{"id", in.draw.between(1, 3)}, {"enabled", in.draw.percent(50)}, {"log", in.draw.percent(50)}};
     }},
    {"break", 1, false,
     [](Drawing& in) -> json {
       return {
           {"condition",
            in.draw.one({"invariant", "error", "length >= 20", "kl > 0.05", "wrap(layer == 0)", "evicted(ledger == 5)",
                         "evicted(layer == 1)", "stage(plan)", "stage(token)", "changed(rows(layer == 0)) and not wrap",
                         "written(layer == 1) or stale", "read(layer == 0, ledger < 4) > 0.3"})}};
     }},
    {"clearBreaks", 1, false, nothing},
    {"note", 2, false,
     [](Drawing& in) -> json {
       json args{{"text", drawText(in, 3)}};
       if (in.draw.percent(40)) args["tick"] = in.draw.below(12);
       if (in.draw.percent(40)) args["ledger"] = drawLedger(in);
       return args;
     }},
    {"changeNote", 1, false,
     [](Drawing& in) -> json {
       return {{"id", in.draw.between(1, 3)}, {"text", drawText(in, 3)}};
     }},
    {"clearNotes", 1, false,
     [](Drawing& in) -> json {
       return {{"id", in.draw.between(1, 3)}};
     }},
    {"gotoNote", 3, false,
     [](Drawing& in) -> json {
       return {{"id", in.draw.between(1, 3)}};
     }},
    {"setBrightness", 4, false,
     [](Drawing& in) -> json {
       return {{"ledger", drawLedger(in)}, {"value", in.draw.between(0, 280)}};
     }},
    {"pin", 5, false,
     [](Drawing& in) -> json {
       return {{"ledger", drawLedger(in)}, {"on", in.draw.percent(60)}};
     }},
    {"settings", 27, false, settings},
    {"compact", 5, false,
     [](Drawing& in) -> json {
       return {{"rows", in.draw.one({1, 3, 16, 1000})}};
     }},
    {"rebuild", 9, false, nothing},
    {"fault", 1, false, fault},
    {"undo", 16, false, steps},
    {"redo", 10, false, steps},
    {"goto", 5, false,
     [](Drawing& in) -> json {
       json out{{"tick", in.draw.below(12)}};
       if (in.draw.percent(30)) out["branch"] = in.draw.one({"main", "branch-1", "branch-2"});
       return out;
     }},
    {"bug", 1, false, nothing},  // plants none
    {"runBack", 3, false, pastCondition},
    {"why", 2, true,
     [](Drawing& in) -> json {
       return {{"ledger", in.draw.below(24)}};
     }},
    {"knockOut", 1, true,
     [](Drawing& in) -> json {
       return {{"ledger", {in.draw.below(24), in.draw.below(24)}},
               {"rebuild", in.draw.below(2) == 0},
               {"each", in.draw.below(2) == 0}};
     }},
    {"difference", 2, true,
     [](Drawing& in) -> json {
       return {{"tick", in.draw.below(12)}, {"branch", in.draw.below(3) ? "main" : "branch-1"}};
     }},
    {"differenceFrom", 1, true,
     [](Drawing& in) -> json {
       return {{"path", load(in)["path"]}};
     }},
    {"firstDifference", 1, true,
     [](Drawing& in) -> json {
       return {{"branch", in.draw.below(2) ? "main" : "branch-1"}};
     }},
    {"timeline", 1, true,
     [](Drawing& in) -> json {
       return {{"since", in.draw.below(9)}};
     }},
    {"reset", 1, false, nothing},
    {"watch", 1, false,
     [](Drawing& in) -> json {
       return {{"expression", in.draw.one({"length", "changed(rows)", "kl", "exactness(ledger==3)"})}};
     }},
    {"clearWatches", 1, false, nothing},
    {"tokenise", 1, true,
     [](Drawing& in) -> json {
       return {{"text", drawText(in, 3)}};
     }},
    {"detokenise", 1, true, tokens},
    {"logits", 1, true, nothing},
    {"table", 22, true, question},
    {"attention", 2, true, layered},
    {"attentionMatrix", 2, true, matrix},
    {"row", 1, true, oneRow},
    {"at", 1, true,
     [](Drawing& in) -> json {
       return {{"tick", in.draw.between(0, 30)},
               {"verb", in.draw.one({"bytes", "logits", "drift", "policies"})},
               {"branch", in.draw.below(3) ? "main" : "branch-1"}};
     }},
    {"value", 2, true,
     [](Drawing& in) -> json {
       return {{"expression",
                in.draw.one({"length", "rows(layer==0) - before(length)", "read + brightness", "kl", "exactness",
                             "moved", "changed(slot(layer==1)) or stale(ledger<9)", "phase % 7"})}};
     }},
    {"drift", 2, true,
     [](Drawing& in) -> json {
       return {{"rows", in.draw.percent(30)}};
     }},
    {"ring", 1, true, layered},
    {"storage", 1, true,
     [](Drawing& in) -> json {
       json out = drawLayer(in);
       out["free"] = true;
       return out;
     }},
    {"quantisation", 1, true,
     [](Drawing& in) -> json {
       json out = json::object();
       for (const char* side : {"k", "v"})
         if (in.draw.percent(30)) out[side] = rowTypes()[static_cast<std::size_t>(in.draw.below(5))];
       return out;
     }},
    {"bytes", 1, true, nothing},
    {"measureLifespans", 1, true, nothing},
    {"lifespans", 1, true, nothing},
    {"policies", 1, true, nothing},
    {"expand", 4, false, node<true>},
    {"collapse", 5, false, node<false>},
    {"refocus", 4, false,
     [](Drawing& in) -> json {
       return {{"rounds", in.draw.between(1, 3)}};
     }},
    {"setLensScores", 3, false, scores},
    {"speculate", 7, false,
     [](Drawing& in) -> json {
       return {{"tokens", drawTokens(in, 5)}};
     }},
    {"accept", 3, false, nothing},
    {"rollback", 4, false, nothing},
    {"tree", 1, true, nothing},
    {"saveCache", 3, true, save},
    {"loadCache", 3, false, load},
    {"recordLifespans", 1, true,
     [](Drawing& in) -> json {
       return {{"path", freshPath(in)}};
     }},
    {"saveCapture", 1, true,
     [](Drawing& in) -> json {
       return {{"path", freshPath(in)}};
     }},
    {"startCapture", 1, false,
     [](Drawing& in) -> json {
       return {{"path", freshPath(in)}};
     }},
    {"stopCapture", 1, false, nothing},
};

const Maker* makerOf(const std::string& verb) {
  const auto found =
      std::find_if(std::begin(kMakers), std::end(kMakers), [&](const Maker& m) { return verb == m.verb; });
  return found == std::end(kMakers) ? nullptr : found;
}

/// Verbs of wLOD come seldom where they are refused.
int weightOf(const Maker& maker, bool wlod) {
  static const std::vector<std::string> kWlod = {"expand", "collapse", "refocus",  "setLensScores",
                                                 "accept", "rollback", "speculate"};
  const bool its = std::find(kWlod.begin(), kWlod.end(), maker.verb) != kWlod.end();
  return its && !wlod ? (maker.weight > 4 ? 1 : 0) : maker.weight;
}

const Maker& drawMaker(Drawing& in) {
  const bool wlod = in.session.manifest().wlod.has_value();
  int all = 0;
  for (const Maker& maker : kMakers) all += weightOf(maker, wlod);
  int place = in.draw.below(all);
  for (const Maker& maker : kMakers)
    if ((place -= weightOf(maker, wlod)) < 0) return maker;
  return kMakers[0];
}

/// A call that is not as the verb wants it: another type, a value out of range, a name too many, a name missing.
void spoil(Drawing& in, json& args) {
  const int kind = in.draw.below(4);
  if (kind == 0 || args.empty()) {
    args[in.draw.one({"sped", "Layer", "ids ", ""})] = 1;
    return;
  }
  auto at = args.begin();
  std::advance(at, in.draw.below(static_cast<std::int64_t>(args.size())));
  if (at.key() == "path") return;
  if (kind == 1) args.erase(at);
  else
    *at = in.draw.one<json>({nullptr, -1, 1.5, 1 << 30, 1e300, "x", json::array(), json::array({-1}), json::object(),
                             json::array({1 << 29}), true});
}

}  // namespace

Step drawStep(Drawing& in) {
  const int special = in.draw.below(100);
  if (special < 2) return {"#cap", json::array()};
  if (special < 4)
    return {"#save", json::array({in.draw.one({"native", "native", "hf_dynamic", "hf_tuple"}), in.draw.percent(60)})};
  if (special < 5) return {"#fork", json::array()};
  if (special < 6) return {in.draw.one({"#travel", "#reset"}), json::array()};
  // An open tick refuses most calls: it goes on more often than not.
  const bool goesOn = in.session.stage() && in.draw.percent(60);
  const Maker& maker =
      goesOn ? *makerOf(in.draw.one({"stepStage", "stepStage", "finishTick", "cancelTick"})) : drawMaker(in);
  Step step{maker.verb, maker.args(in), maker.reads};
  if (special < 8 && !maker.reads)
    return {"#fault", json::array({in.draw.one({"allocation", "kernel", "copy"}), step.verb, step.args})};
  if (in.draw.percent(8)) spoil(in, step.args);
  return step;
}

std::vector<std::string> unmatchedVerbs() {
  std::vector<std::string> out;
  for (const VerbInfo& verb : kvlab::verbs())
    if (!verb.ofLanes() && !makerOf(verb.name)) out.push_back(verb.name);
  for (const Maker& maker : kMakers) {
    const auto& all = kvlab::verbs();
    if (std::none_of(all.begin(), all.end(), [&](const VerbInfo& verb) { return verb.name == maker.verb; }))
      out.push_back(maker.verb);
  }
  return out;
}

bool onlyReads(const std::string& verb) {
  const Maker* maker = makerOf(verb);
  return maker && maker->reads;
}

}  // namespace kvlab::random_sessions
