// SPDX-License-Identifier: Apache-2.0
// Every damage of the fault drill on a session that lives on: one rebuild repairs it.
#pragma once
#include "core/api/layout_names.h"
#include "core/check/fault_drill.h"
#include "support/session_fixture.h"

namespace kvlab {

struct DrillCall {
  std::string kind;
  json fields;

  QByteArray text() const { return QByteArray::fromStdString(kind + " " + fields.dump()); }
};

/// Calls of all kinds that damage a cache, on slots and on whole entries where a kind tells them apart.
inline std::vector<DrillCall> damagingDrills() {
  std::vector<DrillCall> out;
  for (const FaultKind& kind : faultKinds()) {
    if (kind.caughtBy.empty()) continue;
    const std::string name(kind.kind);
    if (kind.params.find("column") == std::string_view::npos) out.push_back({name, json::object()});
    else
      for (const char* column : {"slots", "entries"}) out.push_back({name, {{"column", column}}});
  }
  return out;
}

/// Names of all layouts, with small pages.
inline std::vector<std::string> drilledLayouts() {
  std::vector<std::string> out;
  for (const LayoutName& layout : layouts())
    out.push_back(std::string(layout.name) + (layout.name == "paged" ? ":block=4" : ""));
  return out;
}

/// What the last check of the session has found; empty = nothing.
inline QByteArray lastFindings(const SessionFixture& s) {
  QByteArray out;
  for (const InvariantState& state : s->health().alignment.lines())
    if (!state.ok) out += QByteArray::fromStdString(std::string(state.id) + ": " + state.detail + "\n");
  return out;
}

/// Damages the session in each way and rebuilds it each time, which ends with a full check: then all invariants hold,
/// and the state is the one that was damaged. between: ticks on the damaged cache, behind which the state is another.
inline QByteArray drilled(const SessionFixture& s, int between = 0) {
  s.must("rebuild");
  const std::string hash = s.hash();
  for (const DrillCall& drill : damagingDrills()) {
    json args = drill.fields;
    args.update({{"kind", drill.kind}, {"layer", 1}, {"seed", 3}});
    const QByteArray where = drill.text() + ": ";
    if (const Result<json> done = s.verb("fault", args); !done) {
      if (drill.kind != "scale_swap") return where + QByteArray::fromStdString(done.error().text());
      continue;  // rows without scales
    }
    if (between > 0) s.must("step", {{"n", between}});
    if (const Result<json> done = s.verb("rebuild"); !done)
      return where + QByteArray::fromStdString(done.error().text());
    if (const QByteArray found = lastFindings(s); !found.isEmpty()) return where + found;
    if (between == 0 && s.hash() != hash) return where + "the state is another one";
  }
  s.must("step", {{"n", 2}});
  return s.damage();
}

}  // namespace kvlab
