// SPDX-License-Identifier: Apache-2.0
// The state that a refused call must leave as it was, part by part, and its differences.
#pragma once
#include <map>

#include "core/api/stage_view.h"
#include "support/session_fixture.h"

namespace kvlab {

using Digest = std::map<std::string, std::string>;

/// A report without measured times.
inline json timeless(json report) {
  if (!report.is_object()) return report;
  report.erase("stage");
  for (json& event : report["events"]) event.erase("start_us"), event.erase("us");
  return report;
}

/// Content, pending actions, sampler, an open tick.
inline Digest contentOf(const Session& s) {
  Digest out{{"hash", stateHash(s)},
             {"tick", std::to_string(s.state().tick.value())},
             {"ledger", std::to_string(s.state().ledger.size())},
             {"status", json{static_cast<int>(s.health().status), s.health().reason}.dump()},
             {"stage", s.stage() ? toJson(*s.stage()).dump() : "none"}};
  return out;
}

/// Also the state beside the content: history, storage, conditions, notes, settings. Measurements may stay.
inline Digest digestOf(const Session& session) {
  Session& s = const_cast<Session&>(session);
  Digest out = contentOf(s);
  const Timeline& line = s.timeline();
  out["history"] = json{line.size(), line.currentId(), line.branch()}.dump();
  out["report"] = line.current().report ? timeless(toJson(*line.current().report)).dump() : "none";
  for (const auto& point : s.breakpoints().points()) out["breakpoints"] += toJson(point.view).dump();
  for (const WatchView& watch : s.watches().list()) out["watches"].append(watch.expression).append(" ");
  if (const NoteList notes = s.notes().views(line))
    for (const NoteView& note : *notes) out["notes"] += toJson(note).dump();
  out["manifest"] = s.manifest().toJson().dump();
  for (const CacheLayer layer : s.store().layers()) {
    out["layer " + std::to_string(layer.value())] =
        json{kernels::dtypeName(s.store().pool(layer).format().k), s.parts().layouts.layout(layer).name(),
             s.store().pool(layer).slots()}
            .dump();
  }
  const CaptureLog* capture = s.history().capture();
  out["capture"] = capture ? std::to_string(capture->next()) : "none";
  out["snapshot"] = json{s.snapshot()->tick.value(), s.snapshot()->pending.size()}.dump();
  out["faults"] = s.parts().faults.armed() ? "armed" : s.parts().faults.bug() ? "bug" : "none";
  return out;
}

/// Free slots of the layer that has the fewest. History may give some back while a call is refused.
inline std::int32_t freeSlots(const Session& s) { return s.store().available(Placing::Look); }

/// The differences part by part, in words; empty = none.
inline QByteArray differing(const Digest& before, const Digest& after) {
  std::string out;
  for (const auto& [part, value] : before)
    if (const auto now = after.find(part); now == after.end() || now->second != value)
      out.append("\n  ")
          .append(part)
          .append(": ")
          .append(value, 0, 400)
          .append("\n    now ")
          .append(now == after.end() ? "gone" : now->second, 0, 400);
  for (const auto& [part, value] : after)
    if (!before.contains(part)) out.append("\n  ").append(part).append(" came: ").append(value, 0, 400);
  return QByteArray::fromStdString(out);
}

}  // namespace kvlab
