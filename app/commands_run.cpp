// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that make the engine work: stepping, running, breakpoints, checking, measuring, repairing.
#include <algorithm>

#include "app/command_registry.h"
#include "app/command_rules.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

Status verb(CommandHost& host, const char* name, const Json& args = Json::object()) {
  host.context().submit(name, args);
  return ok();
}

/// Reports of failed ticks come back as values; the window shows them like errors.
Status step(CommandHost& host, const Json& args) {
  LiveContext& context = host.context();
  const Json count = args.value("n", Json(1));
  context.submit("step", {{"n", count}}, [&context](const Result<Json>& reports) {
    if (!reports) return emit context.failed(reports.error());
    for (const Json& report : *reports)
      if (!report.value("ok", true) && report.contains("error")) emit context.failed(Error::fromJson(report["error"]));
  });
  emit context.scripted(count == 1 ? QString("s.step()") : QString("s.step(%1)").arg(count.dump().c_str()));
  return ok();
}

Status stepBack(CommandHost& host, const Json&) {
  const std::int64_t tick = host.context().snapshot()->tick.value() - 1;
  emit host.context().scripted(QString("s.goto(%1)").arg(tick));
  return verb(host, "goto", {{"tick", tick}});
}

Status run(CommandHost& host, const Json& args) {
  const Json ticks = args.value("max_ticks", Json(1'000'000));
  emit host.context().scripted(QString("s.run({maxTicks:%1})").arg(ticks.dump().c_str()));
  return verb(host, "run", {{"maxTicks", ticks}});
}

Status stop(CommandHost& host, const Json&) {
  host.stopScript();
  host.context().cancel();
  return ok();
}

Status checkInvariants(CommandHost& host, const Json&) {
  LiveContext& context = host.context();
  if (!context.asked()) (void)host.showView("invariants");
  emit context.scripted("s.invariants()");
  context.submit("invariants", Json::object(), [&context](const Result<Json>& list) {
    if (!list) return emit context.failed(list.error());
    for (const Json& one : *list)
      if (!one.value("ok", true))
        return emit context.failed({"invariant_broken", one.value("title", std::string("invariant")),
                                    one.value("detail", std::string()),
                                    "select it in Invariants to see where, then Rebuild"});
  });
  return ok();
}

Status measureDrift(CommandHost& host, const Json&) {
  emit host.context().scripted("s.drift()");
  return verb(host, "drift");
}

Status opEvents(CommandHost& host, const Json& args) {
  const SnapshotPtr shown = host.context().snapshot();
  const bool on = args.value("on", !(shown && shown->info && shown->info->manifest.value("op_events", false)));
  emit host.context().scripted(on ? "s.opEvents()" : "s.opEvents(false)");
  return verb(host, "opEvents", {{"on", on}});
}

/// The view shows what was measured; with the figures of every row, so that the view can draw them.
Status measureQuantisation(CommandHost& host, const Json&) {
  if (!host.context().asked()) (void)host.showView("quant");
  emit host.context().scripted("s.quantisation({rows: true})");
  return verb(host, "quantisation", {{"rows", true}, {"packed", true}});
}

QString needsRows(const CommandHost& host) {
  if (const QString why = needsSession(host); !why.isEmpty()) return why;
  return host.context().snapshot()->length() > 0 ? QString() : QString("the context is empty; prompt some text first");
}

QString quoted(const Json& text) { return QString::fromStdString(text.dump()); }

Status addBreak(CommandHost& host, const Json& args) {
  emit host.context().scripted(QString("s.break(%1)").arg(quoted(args["condition"])));
  return verb(host, "break", {{"condition", args["condition"]}});
}

Status clearBreaks(CommandHost& host, const Json&) {
  emit host.context().scripted("s.clearBreaks()");
  return verb(host, "clearBreaks");
}

/// The engine can only add conditions and forget them all; the last of these verbs answers for the command.
Status setBreaks(CommandHost& host, const Json& args) {
  const Json& conditions = args["conditions"];
  if (!std::all_of(conditions.begin(), conditions.end(), [](const Json& one) { return one.is_string(); }))
    return Error{"bad_argument",
                 "the breakpoints stay as they are",
                 "a condition is not a text",
                 "give texts: [\"kl > 0.05\"]",
                 std::nullopt,
                 "conditions",
                 conditions};
  if (conditions.empty()) return clearBreaks(host, Json::object());
  LiveContext& context = host.context();
  const auto failed = [&context](const Result<Json>& reply) {
    if (!reply) emit context.failed(reply.error());
  };
  emit context.scripted("s.clearBreaks()");
  context.submit("clearBreaks", Json::object(), &context, failed);
  for (const Json& one : conditions) {
    emit context.scripted(QString("s.break(%1)").arg(quoted(one)));
    if (&one == &conditions.back()) return verb(host, "break", {{"condition", one}});
    context.submit("break", {{"condition", one}}, &context, failed);
  }
  return ok();
}

Status rebuild(CommandHost& host, const Json&) {
  emit host.context().scripted("s.rebuild()");
  return verb(host, "rebuild");
}

}  // namespace

void addRunCommands(std::vector<Command>& list) {
  list.push_back({"step",
                  "Step",
                  "Run",
                  "Generate one token and stop.",
                  {"F10"},
                  "step",
                  {{"n", "number", "ticks to run, 1 unless given"}},
                  step,
                  needsReadyIdle});
  list.push_back({"step_into",
                  "Step Into",
                  "Run",
                  "Apply the pending action that stands highest, alone; a tick where none is pending.",
                  {"F11"},
                  "step_into",
                  {},
                  [](CommandHost& host, const Json&) {
                    emit host.context().scripted("s.stepAction()");
                    return verb(host, "stepAction");
                  },
                  [](const CommandHost& host) {
                    const QString why = needsReadyIdle(host);
                    return why.isEmpty() ? needsAlone(host) : why;
                  }});
  list.push_back({"step_out",
                  "Step Out",
                  "Run",
                  "Apply the pending actions that are left, without generating.",
                  {"Shift+F11"},
                  "",
                  {},
                  [](CommandHost& host, const Json&) {
                    emit host.context().scripted("s.apply()");
                    return verb(host, "apply");
                  },
                  needsPending});
  list.push_back({"step_back",
                  "Step Back",
                  "Run",
                  "Go to the tick before; the future stays as a branch.",
                  {"Shift+F10"},
                  "step_back",
                  {},
                  stepBack,
                  needsPast});
  list.push_back({"run",
                  "Run",
                  "Run",
                  "Generate until a breakpoint, the end of the text or Stop.",
                  {"F5"},
                  "run",
                  {{"max_ticks", "number", "stop after so many ticks"}},
                  run,
                  needsReadyIdle,
                  true});
  list.push_back({"stop",
                  "Stop",
                  "Run",
                  "Cancel what runs at its next safe point.",
                  {"Shift+F5", "Esc"},
                  "stop",
                  {},
                  stop,
                  needsWork});
  list.push_back({"rebuild",
                  "Rebuild",
                  "Run",
                  "Compute every row again from the tokens; the drift goes to zero.",
                  {"Ctrl+B"},
                  "rebuild",
                  {},
                  rebuild,
                  needsIdle,
                  true});
  list.push_back({"drift",
                  "Measure Drift",
                  "Run",
                  "Compare every live row with a rebuild without touching it.",
                  {"Ctrl+D"},
                  "drift",
                  {},
                  measureDrift,
                  needsIdle});
  list.push_back({"quantisation_measure",
                  "Measure Quantisation",
                  "Run",
                  "Compute every row anew and compare it with what its storage type holds.",
                  {},
                  "",
                  {},
                  measureQuantisation,
                  needsRows});
  list.push_back({"op_events",
                  "Record Ops",
                  "Run",
                  "List every op call of the coming ticks among their events, or stop doing so.",
                  {"Ctrl+Shift+E"},
                  "",
                  {{"on", "boolean", "the other way round unless given"}},
                  opEvents,
                  needsIdle});
  list.push_back({"check_invariants",
                  "Check Invariants",
                  "Run",
                  "Run every check, in full.",
                  {"Ctrl+I"},
                  "check",
                  {},
                  checkInvariants,
                  needsIdle});
  list.push_back({"break_add",
                  "Add Breakpoint",
                  "",
                  "Stop every run when a condition becomes true.",
                  {},
                  "",
                  {{"condition", "string", "as s.break takes it: kl > 0.05, invariant, wrap(layer==3)", true}},
                  addBreak,
                  needsSession});
  list.push_back({"break_set",
                  "Set Breakpoints",
                  "",
                  "Stop runs on these conditions and on no others.",
                  {},
                  "",
                  {{"conditions", "array", "the conditions", true}},
                  setBreaks,
                  needsSession});
  list.push_back({"break_clear",
                  "Clear Breakpoints",
                  "",
                  "Forget every condition that stops a run.",
                  {},
                  "",
                  {},
                  clearBreaks,
                  needsSession});
}

}  // namespace kvlab
