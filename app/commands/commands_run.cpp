// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that run the engine: step, run, breakpoints, checks, measurements, rebuild.
#include <algorithm>

#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "app/plain/script_lines.h"
#include "core/api/read_json.h"
#include "widgets/base/alignment_lamp.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

/// A failed tick comes back as a report; the window shows it like an error.
Status step(CommandHost& host, const Json& args) {
  LiveContext& context = host.context();
  const Json count = args.contains("n") ? member(args, "n") : Json(1);
  context.submit("step", {{"n", count}}, [&context, note = wentOn(context)](const Result<Json>& reports) {
    if (!reports) return emit context.failed(reports.error());
    if (const auto error = failedTick(*reports)) emit context.failed(*error);
    if (!note.isEmpty()) emit context.noted(note);
  });
  return ok();
}

/// A failed tick comes back as a report here, too.
Status stepStage(CommandHost& host, const Json&) {
  LiveContext& context = host.context();
  context.submit("stepStage", Json::object(), [&context](const Result<Json>& report) {
    if (const auto refused = refusalOf(report)) emit context.failed(*refused);
  });
  say(context, "stepStage");
  return ok();
}

Status stepBack(CommandHost& host, const Json&) {
  return runVerb(host, "goto", {{"tick", host.context().snapshot()->tick.value() - 1}});
}

Status run(CommandHost& host, const Json& args) {
  runTicks(host.context(), args.contains("max_ticks") ? member(args, "max_ticks") : Json(1'000'000));
  return ok();
}

/// A verb that says what stops or watches a run: a run in front takes it between two ticks, and goes on.
auto betweenTicks(const char* verb) {
  return [verb](CommandHost& host, const Json& args) {
    host.context().pauseRun();
    return runVerb(host, verb, args);
  };
}

/// In a colour of drift the zero is seen: the drift is measured behind the rebuild.
Status rebuild(CommandHost& host, const Json&) {
  LiveContext& context = host.context();
  say(context, "rebuild");
  context.submitThen("rebuild", Json::object(), [&context](const Json& reply) {
    const Quantity shown = context.quantity();
    const bool seen = shown == Quantity::DriftK || shown == Quantity::DriftV;
    if (!seen || memberOr(reply, "cancelled", false)) return;
    say(context, "drift");
    context.submit("drift", Json::object());
  });
  return ok();
}

/// Shows the tick of the command that made a row stale, and the row where that began.
Status why(CommandHost& host, const Json& args) {
  LiveContext& context = host.context();
  Json asked = args;
  if (!args.contains("ledger")) asked["ledger"] = context.focus().ledger.value();
  say(context, "why", asked);
  context.submitThen("why", asked, [&context](const Json& reply) {
    const Json& cause = member(reply, "cause");
    const Json& rows = member(cause, "rows");
    const int row = jsonOr(element(rows, rows.size() - 1), -1);
    if (row < 0 || !context.snapshot()) return;
    context.showTick(Tick(memberOr(cause, "tick", std::int64_t{0})));
    const CacheLayers& layers = context.snapshot()->info->cacheLayers;
    const int at = memberOr(cause, "layer", 0), head = memberOr(cause, "kvHead", 0);
    if (at >= 0 && at < layers.layers && head >= 0 && head < layers.perLayer)
      context.focusLayer(layers.of(Layer(at))[head]);
    context.focusLedger(LedgerId(row));
  });
  return ok();
}

/// Without rows the chosen ones are hidden. Each is hidden alone, too, for the colour Knock-out.
Status knockOut(CommandHost& host, const Json& args) {
  LiveContext& context = host.context();
  Json rows = args.contains("ledger") ? member(args, "ledger") : Json::array();
  if (!args.contains("ledger"))
    for (const Position row : context.chosenRows())
      rows.push_back(context.snapshot()->context[at(row.value())].value());
  return runVerb(host, "knockOut", {{"ledger", std::move(rows)}, {"each", true}});
}

/// Selects the rows for which a condition holds.
Status selectWhere(CommandHost& host, const Json& args) {
  LiveContext& context = host.context();
  emit context.scripted(QString("view.command(\"select_where\", {condition: %1})")
                            .arg(QString::fromStdString(scriptText(member(args, "condition")))));
  Json asked = tableArgs("ledger", {{"live", true}}, {"id"});
  asked["where"] = member(args, "condition");
  context.submitThen("table", asked, [&context](const Json& reply) {
    std::vector<LedgerId> rows;
    for (const Json& row : cellsIn(reply, "id"))
      if (const LedgerId id(jsonOr(row, -1)); id >= LedgerId(0)) rows.push_back(id);
    if (rows.empty()) return;
    context.focusLedger(rows.front());
    std::ranges::sort(rows);
    context.select(std::move(rows));
  });
  return ok();
}

/// The view Events hears the reply.
Status ticksWhere(CommandHost& host, const Json& args) {
  LiveContext& context = host.context();
  emit context.scripted(QString("s.ticksWhere(%1)").arg(QString::fromStdString(scriptText(member(args, "condition")))));
  Json asked = tableArgs("ticks", Json::object(), {"tick"});
  asked["where"] = member(args, "condition");
  context.submit("table", asked);
  return ok();
}

/// Shows the first tick at which a condition held. more: text to add.
Status showFirst(CommandHost& host, const std::string& condition, void (*more)(LiveContext&) = nullptr) {
  LiveContext& context = host.context();
  emit context.scripted(QString("s.firstTick(\"%1\")").arg(QString::fromStdString(condition)));
  Json asked = tableArgs("ticks", Json::object(), {"tick"});
  asked.update({{"where", condition}, {"limit", 1}});
  context.submitThen("table", asked, [&context, more](const Json& reply) {
    if (const Tick tick(jsonOr(element(cellsIn(reply, "tick"), 0), std::int64_t{-1})); tick >= Tick(0))
      context.showTick(tick);
    if (more) more(context);
  });
  return ok();
}

/// The tick from which on the next token differs from that of a rebuild.
Status driftBegan(CommandHost& host, const Json& args) {
  const double counts = memberOr(args, "kl", kDriftCounts);
  if (counts < 0)
    return badArgument("the search was refused", "a KL divergence is never below 0",
                       "give what counts as drift, in nats, such as 0.001", "kl", counts);
  return showFirst(host, "kl > " + Json(counts).dump());
}

/// Names the known violations, and the ticks since when they exist.
void sayFound(LiveContext& context) {
  if (!context.snapshot()) return;
  for (const InvariantState& one : context.snapshot()->invariants) {
    if (one.ok) continue;
    const std::string when = one.since ? "; it broke " + intervalText(*one.since) : "";
    return emit context.noted(QString::fromStdString(std::string(one.title) + ": " + one.detail + when));
  }
}

Status brokeFirst(CommandHost& host, const Json&) { return showFirst(host, "invariant", sayFound); }

Status stop(CommandHost& host, const Json& args) {
  if (args.contains("job")) return host.runCommand("cancel_job", args);
  host.context().cancel();
  return ok();
}

/// Between which ticks an invariant of a reply broke.
std::string brokeText(const Json& line) {
  const std::string when = memberOr(member(line, "since"), "text", std::string());
  return when.empty() ? when : "; it broke " + when;
}

Status checkInvariants(CommandHost& host, const Json&) {
  LiveContext& context = host.context();
  if (!context.asked()) (void)host.views().showView("invariants");
  emit context.scripted("s.invariants()");
  context.submit("table", tableArgs("invariants"), [&context](const Result<Json>& list) {
    if (!list) return emit context.failed(list.error());
    for (const Json& one : recordsOf(*list))
      if (!memberOr(one, "ok", true))
        return emit context.failed({"invariant_broken", memberOr(one, "title", std::string("invariant")),
                                    memberOr(one, "detail", std::string()) + brokeText(one),
                                    "select it in Invariants to see where, then Rebuild"});
  });
  return ok();
}

/// The finding behind the one whose row has the focus, or the first, in the view that shows it.
Status goToFinding(CommandHost& host, const Json&) {
  LiveContext& context = host.context();
  const SnapshotPtr shown = context.snapshot();
  const std::vector<Finding>& all = shown->alignment.findings;
  const Focus focus = context.focus();
  const auto focused = std::ranges::find_if(all, [&](const Finding& one) {
    return one.violation.layer == focus.layer && violatedRow(*shown, one.violation) == focus.ledger;
  });
  const Finding& found = focused == all.end() || focused + 1 == all.end() ? all.front() : *(focused + 1);
  const Violation& next = found.violation;
  const std::optional<LedgerId> row = violatedRow(*shown, next);
  if (!row) return host.views().showView("invariants");
  QString where;
  if (next.layer) {
    context.focusLayer(*next.layer);
    where = QString("layer: %1, ").arg(next.layer->value());
  }
  context.focusLedger(*row);
  emit context.scripted(QString("view.focus({%1ledger: %2})").arg(where).arg(row->value()));
  return host.views().showView(findingPosition(*shown, found) < 0 ? "mirror" : "map");
}

Status opEvents(CommandHost& host, const Json& args) {
  const SnapshotPtr shown = host.context().snapshot();
  const bool on =
      memberOr(args, "on", !(shown && shown->settings && memberOr(shown->settings->manifest, "op_events", false)));
  return submitSettings(host, {{"op_events", on}});
}

/// Measures with the figures of every row, which the view draws.
Status measureQuantisation(CommandHost& host, const Json& args) {
  if (!host.context().asked()) (void)host.views().showView("quant");
  Json request{{"rows", true}, {"packed", true}};
  for (const char* side : {"k", "v"})
    if (args.contains(side)) request[side] = member(args, side);
  return runVerb(host, "quantisation", request);
}

/// Arguments of a verb about the focused layer unless they name one.
Json inLayer(CommandHost& host, Json args) {
  const LiveContext& context = host.context();
  return args.contains("layer") ? args : withLayer(*context.snapshot(), context.focus().layer, std::move(args));
}

Status measureAttention(CommandHost& host, const Json& given) {
  if (!host.context().asked()) (void)host.views().showView("attention");
  Json args = inLayer(host, given);
  args["packed"] = true;
  return runVerb(host, "attentionMatrix", args);
}

/// The place of the focused row in the map of the focused layer; none where the layer does not hold it.
std::optional<std::ptrdiff_t> focusedIndex(const CommandHost& host) {
  const LiveContext& context = host.context();
  if (context.history().empty()) return {};
  const SnapshotPtr newest = context.history().back();
  if (newest->layers.empty()) return {};
  const auto layer = static_cast<std::size_t>(std::max(0, context.focus().layer.value()));
  const ResidencyView& map = *newest->layers[std::min(layer, newest->layers.size() - 1)];
  const auto found = std::find(map.ledger.begin() + map.first, map.ledger.end(), context.focus().ledger);
  return found == map.ledger.end() ? std::nullopt : std::optional(found - map.ledger.begin());
}

const Rule needsFocusedIndex = rule(
    {}, [](const CommandHost& host) { return focusedIndex(host).has_value(); },
    "the focused layer holds no focused row; focus a row in the map");

/// Compares the focused row unless the arguments name one.
Status rebuildRow(CommandHost& host, const Json& given) {
  LiveContext& context = host.context();
  if (!context.asked()) (void)host.views().showView("row");
  Json args = inLayer(host, given);
  if (!args.contains("index")) {
    const auto index = focusedIndex(host);
    if (!index)
      return Error("not_resident", "the row was not compared", "the focused layer holds no focused row",
                   "focus a row in the map");
    args["index"] = *index;
  }
  args["which"] = "both";
  args["compare"] = "rebuild";
  return runVerb(host, "row", args);
}

const Rule needsPast = rule(
    needsFreeAlone, [](const Snapshot& shown) { return shown.tick > Tick(0); }, "this is the first tick");
const Rule needsWork = rule(
    {}, [](const CommandHost& host) { return host.context().working(); }, "nothing is running");
const Rule needsRow = rule(
    {}, [](const CommandHost& host) { return host.context().focus().ledger >= LedgerId(0); },
    "no row has the focus; click one");
const Rule needsFinding = rule(
    needsSession, [](const Snapshot& shown) { return !shown.alignment.findings.empty(); },
    "no invariant is known to be broken");
const Rule needsRows = rule(
    needsSession, [](const Snapshot& shown) { return shown.length() > 0; },
    "the context is empty; prompt some text first");
/// Rows outside a wLOD tree.
const Rule needsOwnRows = rule(
    needsRows, [](const Snapshot& shown) { return !shown.wlod; }, "the rows of a wLOD session belong to its tree");
const Rule needsChosen = rule(
    {}, [](const CommandHost& host) { return !host.context().chosenRows().empty(); },
    "no row of the context is chosen; click one");
/// Rows that all KV heads of a layer share, outside a wLOD tree.
const Rule needsSharedRows = rule(
    needsOwnRows, [](const Snapshot& shown) { return !shown.info->cacheLayers.byHead(); },
    "each KV head has rows of its own; this needs residency layer");
const Rule needsBreakpoint = rule(
    {},
    [](const CommandHost& host) {
      const SnapshotPtr s = host.context().snapshot();
      const auto behindTicks = [](const BreakpointView& one) {
        return one.enabled && one.condition.find("stage(") == std::string::npos;
      };
      return s && s->breakpoints && std::ranges::any_of(*s->breakpoints, behindTicks);
    },
    "no breakpoint stands behind a tick; add one in Events");
/// True for a part of the newest state that is there and is not empty.
template <auto part>
bool hasAny(const CommandHost& host) {
  const auto all = (*newestOf(host)).*part;
  return all && !all->empty();
}
/// Of the session, or of all lanes that are in step. The reply of the last verb is that of the command.
Status measureAttentionError(CommandHost& host, const Json&) {
  const Json args{{"attention", true}};
  LiveContext& context = host.context();
  const LanesViewPtr lanes = context.snapshot()->lanes;
  for (std::size_t lane = 1; lanes && lane < lanes->lanes.size(); ++lane) {
    if (lanes->lanes[lane].exit) continue;
    const Json call{{"lane", lane}, {"verb", "drift"}, {"args", args}};
    say(context, "lane", call);
    context.submit("lane", call, &context, [&context](const Result<Json>& reply) {
      if (!reply) emit context.failed(reply.error());
    });
  }
  return runVerb(host, "drift", args);
}

const Rule needsBreakpoints = rule({}, hasAny<&Snapshot::breakpoints>, "there are no breakpoints; Events adds one"),
           needsWatches = rule({}, hasAny<&Snapshot::watches>, "there are no watches; Watches adds one");
const Rule needsOpenTick = rule(
    needsIdleAlone, [](const Snapshot& shown) { return shown.stage != nullptr; },
    "no tick is open; Step Stage opens one");

/// Removes all breakpoints and adds these. The reply of the last verb is that of the command.
Status setBreaks(CommandHost& host, const Json& args) {
  const Json& conditions = member(args, "conditions");
  if (!std::all_of(conditions.begin(), conditions.end(), [](const Json& one) { return one.is_string(); }))
    return badArgument("the breakpoints stay as they are", "a condition is not a string",
                       "give strings: [\"kl > 0.05\"]", "conditions", conditions);
  LiveContext& context = host.context();
  context.pauseRun();
  if (conditions.empty()) return runVerb(host, "clearBreaks");
  const auto failed = [&context](const Result<Json>& reply) {
    if (!reply) emit context.failed(reply.error());
  };
  say(context, "clearBreaks");
  context.submit("clearBreaks", Json::object(), &context, failed);
  for (const Json& one : conditions) {
    if (&one == &conditions.back()) return runVerb(host, "break", {{"condition", one}});
    say(context, "break", {{"condition", one}});
    context.submit("break", {{"condition", one}}, &context, failed);
  }
  return ok();
}

}  // namespace

void addRunCommands(std::vector<Command>& list) {
  add(list, {"step", "Step", "Run", "Generate one token and stop."}, step, allOf(needsReady, needsClosed),
      {.keys = {"F10"},
       .icon = "step",
       .args = {{"n", "number", "ticks to run, 1 unless given"}},
       .view = [](const Json& args) { return QString(memberOr(args, "n", 1.0) > 1 ? "events" : ""); }});
  add(list,
      {"step_into", "Step Into", "Run",
       "Apply only the pending action with the highest position; without one, run a tick."},
      theVerb("stepAction"), allOf(needsReady, needsAlone, needsClosed), {.keys = {"F11"}, .icon = "step_into"});
  add(list,
      {"step_stage", "Step Stage", "Run",
       "Do the next stage of a tick and stop there: generate, observe, plan, each action, prune, apply, verify."},
      stepStage, allOf(needsReady, needsAlone), {.keys = {"F7"}});
  add(list, {"finish_tick", "Finish Tick", "Run", "Run the open tick to its end."}, theVerb("finishTick"),
      needsOpenTick, {.keys = {"Shift+F7"}});
  add(list, {"cancel_tick", "Cancel Tick", "Run", "Throw the open tick away; nothing has changed then."},
      theVerb("cancelTick"), needsOpenTick);
  add(list, {"step_out", "Step Out", "Run", "Apply all pending actions without generating."}, theVerb("apply"),
      needsPending, {.keys = {"Shift+F11"}});
  add(list, {"step_back", "Step Back", "Run", "Go to the previous tick; the future stays as a branch."}, stepBack,
      needsPast, {.keys = {"Shift+F10"}, .icon = "step_back"});
  add(list,
      {"go_to_tick", "Go to Tick", "",
       "Go to a tick of this branch or of another one, which then goes on; the future stays as a branch."},
      theVerb("goto"), needsFreeAlone,
      {.args = {{"tick", "number", "the tick", true},
                {"branch", "string", "one of s.branches(); the shown one unless given"}}});
  add(list, {"run", "Run", "Run", "Generate until a breakpoint, the end of the text or Stop."}, run,
      allOf(needsReady, needsClosed),
      {.keys = {"F5"},
       .icon = "run",
       .args = {{"max_ticks", "number", "stop after so many ticks"}},
       .startsGroup = true,
       .view = shownIn("events")});
  add(list,
      {"run_back", "Run Back", "Run",
       "Go back to the last tick at which a breakpoint, or the given condition, held; the future stays."},
      theVerb("runBack"), needsPast,
      {.keys = {"Ctrl+Shift+F5"},
       .args = {{"condition", "string", "as s.runBack takes it: written(ledger==12, layer==3), kl > 0.05"}},
       .view = shownIn("events"),
       .bare = needsBreakpoint});
  add(list,
      {"why", "Why Stale?", "Run",
       "Show the tick whose command made the focused row differ from a rebuild, and the row where that began."},
      why, needsIdle,
      {.args = {{"ledger", "number", "ledger row; the focused one when missing"},
                {"layer", "number", "layer of the model; the last one in which the row differs when missing"}},
       .bare = needsRow});
  add(list,
      {"knock_out", "Knock Out Rows", "Run",
       "Tell what the next token would be if the chosen rows were hidden, together and one by one."},
      knockOut, allOf(needsIdle, needsOwnRows),
      {.args = {{"ledger", "array", "ledger rows; the chosen ones when missing, none forgets the last answer"}},
       .view = shownIn("model"),
       .bare = needsChosen});
  add(list,
      {"drift_began", "When Did It Drift?", "Run",
       "Show the first tick whose next token differs from that of a rebuild; a rebuild for every tick."},
      driftBegan, needsIdle, {.args = {{"kl", "number", "KL divergence in nats that counts; 0.001 when missing"}}});
  add(list,
      {"broke_first", "When Did It Break?", "Run",
       "Show the first tick after which a check found something: the damage came in it, or since the check before."},
      brokeFirst, needsIdle);
  add(list,
      {"select_where", "Select Rows Where", "",
       "Select the rows of the context for which a condition holds: brightness < 20 and exactness != 'exact'."},
      selectWhere, needsRows,
      {.args = {{"condition", "string", "an expression; facts of rows speak of each row", true}}});
  add(list,
      {"ticks_where", "Show Ticks Where", "",
       "Mark the ticks at which a condition held in the strip of Events: evicted(layer==3), kl > 0.05."},
      ticksWhere, needsIdle,
      {.args = {{"condition", "string", "an expression that is true or false", true}}, .view = shownIn("events")});
  add(list, {"stop", "Stop", "Run", "Cancel the job in front at its next safe point, or the given one."}, stop,
      needsWork,
      {.keys = {"Shift+F5", "Esc"},
       .icon = "stop",
       .args = {{"job", "number", "a job's number in the view Jobs; the one in front when missing"}}});
  add(list, {"rebuild", "Rebuild", "Run", "Compute every row again from the tokens; the drift goes to zero."}, rebuild,
      needsFree, {.keys = {"Ctrl+B"}, .icon = "rebuild", .startsGroup = true, .view = shownIn("map")});
  add(list, {"drift", "Measure Drift", "Run", "Compare every live row with a rebuild without touching it."},
      theVerb("drift"), needsIdle, {.keys = {"Ctrl+D"}, .icon = "drift", .view = shownIn("model")});
  add(list,
      {"attention_error", "Measure Attention Error", "Run",
       "Compare what attention gives over the kept rows with what it would give over all rows, by layer and head."},
      measureAttentionError, allOf(needsIdle, needsOwnRows), {.view = shownIn("smartkv")});
  add(list,
      {"quantisation_measure", "Measure Quantisation", "Run",
       "Compute every row again and compare it with the stored row, or with what another type would hold."},
      measureQuantisation, needsSharedRows,
      {.args = {{"k", "string", "a type to try for the keys; the stored type unless given"},
                {"v", "string", "a type to try for the values; the stored type unless given"}},
       .view = shownIn("quant")});
  const CommandArgument layer{"layer", "number", "the focused layer unless given"},
      kvHead{"kvHead", "number", "KV head, where residency is by KV head"};
  add(list,
      {"attention_measure", "Measure Attention by Head", "Run",
       "Ask the queries of the newest token, or given ones, over the rows that a layer holds."},
      measureAttention, needsRows,
      {.args = {layer,
                kvHead,
                {"head", "number", "a query head; all unless given"},
                {"begin", "number", "position of the first query; the newest unless given"},
                {"end", "number", "position behind the last query"}},
       .view = shownIn("attention")});
  add(list,
      {"row_rebuild", "Compare Row with a Rebuild", "Run",
       "Compute the focused row again in a pass over the context and show the difference."},
      rebuildRow, needsRows,
      {.args = {layer,
                kvHead,
                {"index", "number", "place in the layer's map; the focused row unless given"},
                {"rotated", "boolean", "keys as attention sees them"}},
       .view = shownIn("row"),
       .bare = needsFocusedIndex});
  add(list,
      {"op_events", "Record Ops", "Run",
       "List every op call of the coming ticks among their events, or stop doing so. On a device no pass is recorded "
       "and replayed meanwhile, so ticks take longer there than their ops do."},
      opEvents, needsFree,
      {.keys = {"Ctrl+Shift+E"}, .args = {{"on", "boolean", "true or false; without it the setting changes over"}}});
  add(list, {"check_invariants", "Check Invariants", "Run", "Run every check, in full."}, checkInvariants, needsIdle,
      {.keys = {"Ctrl+I"}, .icon = "check"});
  add(list, {"go_to_finding", "Go to Finding", "Run", "Focus the row and layer of the next known finding."},
      goToFinding, needsFinding, {.keys = {"Ctrl+Shift+J"}});
  add(list, {"break_add", "Add Breakpoint", "", "Stop every run when a condition becomes true."}, betweenTicks("break"),
      needsSession,
      {.args = {{"condition", "string", "as s.break takes it: kl > 0.05, invariant, changed(rows(layer==3))", true},
                {"ignore", "number", "so many times it does not stop yet"},
                {"once", "boolean", "forget it when it has stopped a run"},
                {"log", "boolean", "write a line to the log instead of stopping"}}});
  add(list, {"break_change", "Change Breakpoint", "", "Ask a breakpoint or not, log instead of stopping, stop once."},
      betweenTicks("changeBreak"), needsSession,
      {.args = {{"id", "number", "a number of s.breaks()", true},
                {"enabled", "boolean", "false: it is not asked"},
                {"ignore", "number", "so many times it does not stop yet"},
                {"once", "boolean", "forget it when it has stopped a run"},
                {"log", "boolean", "write a line to the log instead of stopping"}}});
  add(list, {"break_set", "Set Breakpoints", "", "Stop runs on these conditions and on no others."}, setBreaks,
      needsSession, {.args = {{"conditions", "array", "the conditions", true}}});
  add(list, {"watch_add", "Add Watch", "", "Show the value of an expression with every tick."}, betweenTicks("watch"),
      needsSession,
      {.args = {{"expression", "string", "as s.value takes it: kl, rows(layer==3), brightness(ledger==12)", true}}});
  add(list, {"watch_remove", "Remove Watches", "", "Forget every watch, or one."}, betweenTicks("clearWatches"),
      needsSession, {.args = {{"id", "number", "a number of s.watches(); all when missing"}}, .bare = needsWatches});
  add(list, {"break_clear", "Clear Breakpoints", "", "Forget every condition that stops a run, or one."},
      betweenTicks("clearBreaks"), needsSession,
      {.args = {{"id", "number", "a number of s.breaks(); all when missing"}}, .bare = needsBreakpoints});
}

}  // namespace kvlab
