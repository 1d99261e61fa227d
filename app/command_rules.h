// SPDX-License-Identifier: GPL-3.0-or-later
// When commands can run, said in words: empty = now; and what several of them check. GUI thread.
#pragma once
#include "app/command_host.h"

namespace kvlab {

inline QString needsSession(const CommandHost& host) {
  return host.context().snapshot() ? QString() : QString("no session is open");
}
inline QString needsIdle(const CommandHost& host) {
  if (const QString why = needsSession(host); !why.isEmpty()) return why;
  return host.context().busy() ? QString("the engine is working; stop it or wait") : QString();
}
/// Lanes go forward only, all together.
inline QString needsAlone(const CommandHost& host) {
  const SnapshotPtr snapshot = host.context().snapshot();
  return snapshot && snapshot->lanes ? QString("lanes run in lockstep; Close Lanes first") : QString();
}
inline QString needsIdleAlone(const CommandHost& host) {
  const QString why = needsIdle(host);
  return why.isEmpty() ? needsAlone(host) : why;
}
inline QString needsReadyIdle(const CommandHost& host) {
  if (const QString why = needsSession(host); !why.isEmpty()) return why;
  const auto session = host.context().session();
  const SnapshotPtr newest = session ? session->snapshot() : host.context().snapshot();
  if (newest->state == SessionState::Broken) return "the session is broken; Rebuild repairs it";
  if (newest->length() == 0) return "the context is empty; prompt some text first";
  return {};
}
inline QString needsPending(const CommandHost& host) {
  if (const QString why = needsIdle(host); !why.isEmpty()) return why;
  return host.context().snapshot()->pending.empty() ? QString("no action is pending; compose one in Compose")
                                                    : QString();
}
inline QString needsWork(const CommandHost& host) {
  return host.context().busy() || host.scriptRunning() ? QString() : QString("nothing is running");
}
inline QString needsPast(const CommandHost& host) {
  if (const QString why = needsIdleAlone(host); !why.isEmpty()) return why;
  return host.context().snapshot()->tick.value() > 0 ? QString() : QString("this is the first tick");
}
inline QString needsUndo(const CommandHost& host) {
  if (const QString why = needsIdleAlone(host); !why.isEmpty()) return why;
  return host.context().snapshot()->canUndo ? QString() : QString("there is nothing to undo");
}
inline QString needsRedo(const CommandHost& host) {
  if (const QString why = needsIdleAlone(host); !why.isEmpty()) return why;
  return host.context().snapshot()->canRedo ? QString() : QString("there is nothing to redo");
}

/// Checks a layer that was given; a verb would, too, but not before a menu has closed.
inline Status checkLayer(const CommandHost& host, const nlohmann::json& args, const std::string& what) {
  if (!args.contains("layer")) return ok();
  const int layers = host.context().snapshot()->info->cacheLayers.layers;
  const auto layer = args["layer"].get<double>();
  if (layer >= 0 && layer < layers && layer == static_cast<int>(layer)) return ok();
  return Error("bad_argument", what, "there is no layer " + args["layer"].dump(),
               "name one from 0 to " + std::to_string(layers - 1) + ", or none for all", "layer", args["layer"]);
}

}  // namespace kvlab
