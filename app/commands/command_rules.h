// SPDX-License-Identifier: GPL-3.0-or-later
// Reasons why commands cannot run, as texts (empty = they can), and checks that several commands share. GUI thread.
#pragma once
#include "app/base/outcome.h"
#include "app/commands/command_host.h"
#include "core/api/read_json.h"

namespace kvlab {

inline QString needsSession(const CommandHost& host) {
  return host.context().snapshot() ? QString() : QString("no session is open");
}
inline QString needsIdle(const CommandHost& host) {
  if (const QString why = needsSession(host); !why.isEmpty()) return why;
  return host.context().busy() ? QString("the engine is working; stop it or wait") : QString();
}
/// The newest state, whatever tick is shown. There must be a session.
inline SnapshotPtr newestOf(const CommandHost& host) {
  const auto session = host.context().session();
  return session ? session->snapshot() : host.context().snapshot();
}
/// While a tick is open, the engine takes only commands that look and commands that continue the tick.
inline QString needsClosed(const CommandHost& host) {
  if (const QString why = needsSession(host); !why.isEmpty()) return why;
  return newestOf(host)->stage ? QString("a tick is open; Finish Tick or Cancel Tick first") : QString();
}
/// The first reason of several rules.
template <auto... rules>
QString allOf(const CommandHost& host) {
  QString why;
  (void)((why = rules(host), why.isEmpty()) && ...);
  return why;
}
/// For commands that change the session.
inline constexpr auto needsFree = allOf<needsIdle, needsClosed>;
inline QString needsFinding(const CommandHost& host) {
  if (const QString why = needsSession(host); !why.isEmpty()) return why;
  return host.context().snapshot()->alignment.findings.empty() ? QString("no invariant is known to be broken")
                                                               : QString();
}
inline QString needsRow(const CommandHost& host) {
  return host.context().focus().ledger.value() < 0 ? QString("no row has the focus; click one") : QString();
}
inline QString needsView(const CommandHost& host) {
  return host.views().viewWithKeyboard().isEmpty() ? QString("no view has the keyboard; click a view first")
                                                   : QString();
}
/// Lanes can only go forward, all together.
inline QString needsAlone(const CommandHost& host) {
  const SnapshotPtr snapshot = host.context().snapshot();
  return snapshot && snapshot->lanes ? QString("lanes run in lockstep; Close Lanes first") : QString();
}
inline constexpr auto needsIdleAlone = allOf<needsIdle, needsAlone>, needsFreeAlone = allOf<needsFree, needsAlone>;
inline QString needsReadyIdle(const CommandHost& host) {
  if (const QString why = needsSession(host); !why.isEmpty()) return why;
  const SnapshotPtr newest = newestOf(host);
  if (newest->state == SessionState::Broken) return "the session is broken; Rebuild repairs it";
  if (newest->length() == 0) return "the context is empty; prompt some text first";
  return {};
}
inline constexpr auto needsReadyClosed = allOf<needsReadyIdle, needsClosed>;
inline QString needsPending(const CommandHost& host) {
  if (const QString why = needsFree(host); !why.isEmpty()) return why;
  return host.context().snapshot()->pending.empty() ? QString("no action is pending; compose one in Compose")
                                                    : QString();
}
inline QString needsWork(const CommandHost& host) {
  return host.context().working() ? QString() : QString("nothing is running");
}
inline QString needsPast(const CommandHost& host) {
  if (const QString why = needsFreeAlone(host); !why.isEmpty()) return why;
  return host.context().snapshot()->tick.value() > 0 ? QString() : QString("this is the first tick");
}
inline QString needsUndo(const CommandHost& host) {
  if (const QString why = needsFreeAlone(host); !why.isEmpty()) return why;
  return host.context().snapshot()->canUndo ? QString() : QString("there is nothing to undo");
}
inline QString needsRedo(const CommandHost& host) {
  if (const QString why = needsFreeAlone(host); !why.isEmpty()) return why;
  return host.context().snapshot()->canRedo ? QString() : QString("there is nothing to redo");
}

/// A value in script syntax.
inline QString scriptText(const nlohmann::json& value) {
  return QString::fromStdString(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Emits the script line of a call. Packed replies are the business of views.
inline void say(LiveContext& context, const std::string& verb, nlohmann::json args = nlohmann::json::object()) {
  args.erase("packed");
  if (const auto session = context.session()) emit context.scripted(session->script().line(verb, args));
}
/// Emits the script line and runs the verb.
inline Status runVerb(CommandHost& host, const std::string& verb,
                      const nlohmann::json& args = nlohmann::json::object()) {
  say(host.context(), verb, args);
  host.context().submit(verb, args);
  return ok();
}
/// A command that runs a verb with the arguments of the command.
inline auto theVerb(const char* verb) {
  return [verb](CommandHost& host, const nlohmann::json& args) { return runVerb(host, verb, args); };
}

/// A command that opens a panel with its own arguments.
inline auto opens(WindowPanel panel) {
  return [panel](CommandHost& host, const nlohmann::json& args) { return host.open(panel, args); };
}

using PathAction = std::function<Status(CommandHost&, const QString& path)>;
/// Uses the path in the arguments, else asks for one.
inline Status withPath(CommandHost& host, const nlohmann::json& args, const PathQuestion& question, PathAction action) {
  const std::string name = question.argument.toStdString();
  if (args.contains(name)) return action(host, QString::fromStdString(memberOr(args, name, std::string())));
  return host.askPath(question, [&host, action](const QString& path) {
    if (const Status status = action(host, path); !status) emit host.context().failed(status.error());
  });
}

inline Error badArgument(const std::string& what, const std::string& why, const std::string& remedy,
                         const std::string& field, const nlohmann::json& value) {
  return {"bad_argument", what, why, remedy, field, value};
}

/// True for an index below `count`.
inline bool isPlace(double number, int count) {
  return number >= 0 && number < count && number == static_cast<int>(number);
}

/// Checks a given layer now; the verb would report the error only after the menu has closed.
inline Status checkLayer(const CommandHost& host, const nlohmann::json& args, const std::string& what) {
  if (!args.contains("layer")) return ok();
  const int layers = host.context().snapshot()->info->cacheLayers.layers;
  const nlohmann::json& layer = member(args, "layer");
  if (isPlace(jsonOr(layer, -1.0), layers)) return ok();
  return badArgument(what, "there is no layer " + layer.dump(),
                     "name one from 0 to " + std::to_string(layers - 1) + ", or none for all", "layer", layer);
}

/// Changes settings of the session; an error names the key.
inline Status submitSettings(CommandHost& host, const nlohmann::json& change) {
  return runVerb(host, "settings", change);
}
/// The same for one layer or, where none is given, all of them.
inline Status submitSettings(CommandHost& host, nlohmann::json change, const nlohmann::json& args,
                             const std::string& refused) {
  if (Status known = checkLayer(host, args, refused); !known) return known;
  if (!args.contains("layer")) return submitSettings(host, change);
  change["match"] = memberOr(args, "layer", std::int64_t{0});
  return submitSettings(host, {{"layers", nlohmann::json::array({std::move(change)})}});
}

/// The note of a command that continues from the newest tick while the person looks at another one; else empty.
inline QString wentOn(const LiveContext& context) {
  if (context.following() || !context.snapshot()) return {};
  return QString("went on from tick %1, the newest, not from tick %2")
      .arg(context.history().back()->tick.value())
      .arg(context.snapshot()->tick.value());
}

/// Runs ticks. A tick that fails ends a run without a refusal, and is shown like one.
inline void runTicks(LiveContext& context, const nlohmann::json& most) {
  context.submit("run", {{"maxTicks", most}, {"reports", 1}},
                 [&context, note = wentOn(context)](const Result<nlohmann::json>& reply) {
                   if (!reply) return emit context.failed(reply.error());
                   const auto error = failedTick(member(*reply, "ticks"));
                   if (error && error->code != "cancelled") emit context.failed(*error);
                   if (!note.isEmpty()) emit context.noted(note);
                 });
}

}  // namespace kvlab
