// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lane_verbs.h"

#include <algorithm>

#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kMostTicks = 1 << 24, kMostIds = (std::int64_t{1} << 31) - 1;

/// Lane 0's report, and what the others did.
json toJson(const Lanes& lanes, const LanesTick& tick) {
  const std::shared_ptr<const TickReport> report = lanes.session(0).snapshot()->report;
  json out = report ? toJson(*report) : json::object();
  out["tokens"] = json::array();
  for (const TokenId token : tick.tokens) out["tokens"].push_back(token.value());
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
          {"tick", lanes.session(0).state().tick.value()},
          {"token", nullptr},
          {"text", ""},
          {"error", error.toJson()},
          {"lanes", json::array()}};
}

Result<json> step(Lanes& lanes, const json& args) {
  VerbArgs in(args);
  in.only({"n", "tokens"});
  const Session& first = lanes.session(0);
  std::vector<TokenId> tokens;
  if (in.has("tokens")) tokens = in.tokens("tokens", first.model().config().vocab);
  const auto block = static_cast<std::size_t>(first.manifest().ring.blockTokens);
  const auto blocks = static_cast<std::int64_t>((tokens.size() + block - 1) / block);
  const std::int64_t n = in.integer("n", tokens.empty() ? 1 : blocks, 1, kMostTicks);
  if (!tokens.empty() && n > blocks)
    in.fail("n", n, "is " + std::to_string(n) + ", but there are " + std::to_string(tokens.size()) + " tokens");
  if (in.error()) return *in.error();
  json ticks = json::array();
  for (std::int64_t i = 0; i < n; ++i) {
    if (n > 1 && !report(lanes.progress(), "stepping lanes", i, n)) break;
    const auto from = std::min(tokens.size(), static_cast<std::size_t>(i) * block),
               to = std::min(tokens.size(), from + block);
    const Result<LanesTick> tick = lanes.step(std::vector<TokenId>(tokens.begin() + static_cast<std::ptrdiff_t>(from),
                                                                   tokens.begin() + static_cast<std::ptrdiff_t>(to)));
    ticks.push_back(tick ? toJson(lanes, *tick) : failedTick(lanes, tick.error()));
    if (!tick || tick->lanes.front().error) break;
  }
  return ticks;
}

/// Breakpoints are lane 0's; those on drift are not asked for.
Result<json> run(Lanes& lanes, const json& args) {
  VerbArgs in(args);
  in.only({"maxTicks"});
  const std::int64_t most = in.integer("maxTicks", 64, 1, kMostTicks);
  if (in.error()) return *in.error();
  const Session& first = lanes.session(0);
  const std::vector<TokenId> eos = first.model().tokenizer().eos();
  json ticks = json::array();
  std::string stoppedBy = "max_ticks";
  for (std::int64_t i = 0; i < most; ++i) {
    if (!report(lanes.progress(), "running lanes", i, most)) return json{{"ticks", ticks}, {"stoppedBy", "cancelled"}};
    const CacheState before = first.state();
    const Result<LanesTick> tick = lanes.step();
    ticks.push_back(tick ? toJson(lanes, *tick) : failedTick(lanes, tick.error()));
    if (!tick || tick->lanes.front().error) return json{{"ticks", ticks}, {"stoppedBy", "error"}};
    stoppedBy = lanes.breakpoints().hit(*first.snapshot()->report, before, first.state(), 0);
    if (stoppedBy.empty() && std::find(eos.begin(), eos.end(), tick->tokens.back()) != eos.end())
      stoppedBy = "end_of_text";
    if (!stoppedBy.empty()) return json{{"ticks", ticks}, {"stoppedBy", stoppedBy}};
  }
  return json{{"ticks", ticks}, {"stoppedBy", "max_ticks"}};
}

Result<json> needles(Lanes& lanes, const json& args) {
  VerbArgs in(args);
  in.only({"places"});
  std::vector<std::int32_t> places;
  if (!args.contains("places") || args["places"] != json::array())
    for (const LedgerId id : in.ids<LedgerId>("places", kMostIds)) places.push_back(id.value());
  if (in.error()) return *in.error();
  if (Status set = lanes.setNeedles(std::move(places)); !set) return set.error();
  return json(nullptr);
}

Result<json> one(Lanes& lanes, const json& args) {
  VerbArgs in(args);
  in.only({"lane", "verb", "args"});
  const auto lane = static_cast<int>(in.integer("lane", {}, 0, lanes.size() - 1));
  const std::string verb = in.text("verb");
  if (in.error()) return *in.error();
  return lanes.call(lane, verb, in.has("args") ? args["args"] : json::object());
}

Result<json> report(Lanes& lanes, const json& args) {
  VerbArgs in(args);
  in.only({});
  if (in.error()) return *in.error();
  return toJson(*lanes.view());
}

struct LaneVerb {
  const char* name;
  std::vector<std::string> args;
  Result<json> (*run)(Lanes& lanes, const json& args);
};

}  // namespace

Result<std::unique_ptr<Session>> releaseLane(Lanes& lanes, const json& request) {
  VerbArgs in(request);
  in.only({"lane"});
  const auto lane = static_cast<int>(in.integer("lane", 0, 0, lanes.size() - 1));
  if (in.error()) return VerbArgs::completed(*in.error(), "lanesClose", {"lane"});
  return lanes.release(lane);
}

Result<std::unique_ptr<Lanes>> makeLanes(std::unique_ptr<Session>& reference, const json& request) {
  VerbArgs in(request);
  in.only({"lanes", "together", "needles"});
  LanesOptions options;
  options.together = in.flag("together", true);
  if (in.has("needles") && !in.raw("needles").empty())
    for (const LedgerId id : in.ids<LedgerId>("needles", kMostIds)) options.needles.push_back(id.value());
  std::vector<json> changes;
  if (in.has("lanes") && in.raw("lanes").is_array()) changes = in.raw("lanes").get<std::vector<json>>();
  else if (in.has("lanes")) in.fail("lanes", in.raw("lanes"), "is not a list of manifest changes");
  else in.fail("lanes", nullptr, "is missing");
  if (in.error()) return VerbArgs::completed(*in.error(), "lanes", {"lanes", "together", "needles"});
  return Lanes::around(reference, changes, options);
}

Result<json> execute(Lanes& lanes, const std::string& name, const json& given) {
  static const LaneVerb kVerbs[] = {{"step", {"n", "tokens"}, step},
                                    {"run", {"maxTicks"}, run},
                                    {"lanesReport", {}, report},
                                    {"lanesNeedles", {"places"}, needles},
                                    {"lane", {"lane", "verb", "args"}, one}};
  static constexpr std::string_view kFeeds[] = {"prompt", "promptIds", "prefill", "endPrefill"};
  static constexpr std::string_view kAlone[] = {"stepAction", "undo", "redo", "goto", "reset", "loadCache"};
  const json none = json::object(), &args = given.is_null() ? none : given;
  for (const LaneVerb& verb : kVerbs) {
    if (name != verb.name) continue;
    Result<json> result = verb.run(lanes, args);
    return result ? std::move(result) : VerbArgs::completed(result.error(), name, verb.args);
  }
  if (std::find(std::begin(kFeeds), std::end(kFeeds), name) != std::end(kFeeds))
    return answer(lanes, lanes.feed(name, args));
  if (std::find(std::begin(kAlone), std::end(kAlone), name) != std::end(kAlone))
    return Error{"in_lockstep", name + " was refused", "it would take the reference out of step with its lanes",
                 "close the lanes, or fork the reference and do it there"};
  return lanes.call(0, name, args);
}

}  // namespace kvlab
