// SPDX-License-Identifier: GPL-3.0-or-later
// Reasons why commands cannot run, as texts (empty = they can), and checks that several commands share. GUI thread.
#pragma once
#include "app/base/outcome.h"
#include "app/commands/command_host.h"
#include "core/api/read_json.h"

namespace kvlab {

/// `why` is the reason against a command where `holds` is false, and `before` has no reason.
inline Rule rule(const Rule& before, bool (*holds)(const CommandHost&), const char* why) {
  return [=](const CommandHost& host) {
    const QString earlier = before ? before(host) : QString();
    return !earlier.isEmpty() || holds(host) ? earlier : QString(why);
  };
}
/// The same about the shown snapshot: `before` asks for a session.
inline Rule rule(const Rule& before, bool (*holds)(const Snapshot&), const char* why) {
  return [=](const CommandHost& host) {
    const QString earlier = before(host);
    return !earlier.isEmpty() || holds(*host.context().snapshot()) ? earlier : QString(why);
  };
}
/// The first reason of several rules.
template <class... Rules>
Rule allOf(const Rules&... rules) {
  return [=](const CommandHost& host) {
    QString why;
    (void)((why = rules(host), why.isEmpty()) && ...);
    return why;
  };
}

/// The newest state, whatever tick is shown. There must be a session.
inline SnapshotPtr newestOf(const CommandHost& host) {
  const auto session = host.context().session();
  return session ? session->snapshot() : host.context().snapshot();
}

inline const Rule needsSession = rule(
    {}, [](const CommandHost& host) { return host.context().snapshot() != nullptr; }, "no session is open");
inline const Rule needsIdle = rule(
    needsSession, [](const CommandHost& host) { return !host.context().busy(); },
    "the engine is working; stop it or wait");
/// While a tick is open, the engine takes only commands that look and commands that continue the tick.
inline const Rule needsClosed = rule(
    needsSession, [](const CommandHost& host) { return !newestOf(host)->stage; },
    "a tick is open; Finish Tick or Cancel Tick first");
/// For commands that change the session.
inline const Rule needsFree = allOf(needsIdle, needsClosed);
/// Lanes can only go forward, all together.
inline const Rule needsAlone = rule(
    {},
    [](const CommandHost& host) {
      const SnapshotPtr snapshot = host.context().snapshot();
      return !snapshot || !snapshot->lanes;
    },
    "lanes run in lockstep; Close Lanes first");
inline const Rule needsIdleAlone = allOf(needsIdle, needsAlone), needsFreeAlone = allOf(needsFree, needsAlone);
inline const Rule needsReady = rule(
    rule(
        needsSession, [](const CommandHost& host) { return newestOf(host)->state != SessionState::Broken; },
        "the session is broken; Rebuild repairs it"),
    [](const CommandHost& host) { return newestOf(host)->length() > 0; },
    "the context is empty; prompt some text first");
inline const Rule needsPending = rule(
    needsFree, [](const Snapshot& shown) { return !shown.pending.empty(); },
    "no action is pending; compose one in Compose");
inline const Rule needsView = rule(
    {}, [](const CommandHost& host) { return !host.views().viewWithKeyboard().isEmpty(); },
    "no view has the keyboard; click a view first");

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

/// Runs ticks. A tick that fails ends a run without a refusal, and is shown like one. A run that was paused goes on.
inline void runTicks(LiveContext& context, const nlohmann::json& most) {
  const auto goOn = [&context, most](const nlohmann::json& reply) {
    const qint64 left = jsonOr(most, qint64{0}) - memberOr(reply, "count", qint64{0});
    const auto error = failedTick(member(reply, "ticks"));  // of the tick that was under way
    const bool cancelled =
        memberOr(reply, "stoppedBy", std::string()) == "cancelled" || (error && error->code == "cancelled");
    if (!context.takePause() || !cancelled || left <= 0) return;
    // Behind what it was paused for, which may not have been answered yet.
    QMetaObject::invokeMethod(
        &context, [&context, left] { runTicks(context, left); }, Qt::QueuedConnection);
  };
  context.submitThen("run", {{"maxTicks", most}, {"reports", 1}}, goOn,
                     [&context, note = wentOn(context)](const Result<nlohmann::json>& reply) {
                       if (!reply) return emit context.failed(reply.error());
                       const auto error = failedTick(member(*reply, "ticks"));
                       if (error && error->code != "cancelled") emit context.failed(*error);
                       if (!note.isEmpty()) emit context.noted(note);
                     });
}

}  // namespace kvlab
