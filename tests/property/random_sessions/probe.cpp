// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/probe.h"

#include "core/session/state_hash.h"

namespace kvlab::random_sessions {
namespace {

using Marks = std::vector<bool>;  // by slot of a layer

void mark(Marks& marks, std::span<const Slot> slots) {
  for (const Slot slot : slots)
    if (slot.value() >= 0 && static_cast<std::size_t>(slot.value()) < marks.size())
      marks[static_cast<std::size_t>(slot.value())] = true;
}

/// Slots that a state of the timeline names, and `given`: slots that the timeline gives back later.
Marks namedSlots(const Session& session, CacheLayer layer, Marks& given) {
  Marks named(given.size());
  const auto note = [&](const CacheState& state) {
    mark(named, state.group(layer).stored().residentSlots());
    if (const CacheState* before = state.kind->draftedFrom())  // a rollback leads there
      mark(named, before->group(layer).stored().residentSlots());
  };
  note(session.state());
  note(session.withPending());
  const std::vector<bool> there = session.timeline().inPools();
  for (int id = 0; id < session.timeline().size(); ++id) {
    const Timeline::Entry& entry = session.timeline().entry(id);
    if (!entry.kept) continue;
    if (there[static_cast<std::size_t>(id)]) note(entry.kept->state);
    const auto at = static_cast<std::size_t>(layer.value());
    if (at < entry.kept->freed.size()) mark(given, entry.kept->freed[at]);
    if (at < entry.kept->added.size()) mark(given, entry.kept->added[at]);
  }
  return named;
}

}  // namespace

std::string hashOf(const Session& session) { return stateHash(session.state(), session.store(), {}); }

Digest digestOf(const Session& session) {
  Digest out;
  out.rows = hashOf(session);
  for (const Action& action : session.pending()) out.pending += toJson(action).dump();
  out.storage = session.manifest().toJson().dump() + std::to_string(session.parts().capacity);
  out.entries = session.timeline().size();
  out.current = session.timeline().currentId();
  out.tick = session.state().tick.value();
  out.broken = session.health().status == SessionState::Broken;
  return out;
}

std::string difference(const Digest& before, const Digest& after) {
  std::string out;
  const auto say = [&out](bool differs, const char* what) {
    if (differs) out += (out.empty() ? "" : " ") + std::string(what);
  };
  say(before.rows != after.rows, "rows");
  say(before.pending != after.pending, "pending");
  say(before.storage != after.storage, "storage");
  say(before.entries != after.entries || before.current != after.current || before.tick != after.tick, "history");
  say(before.broken != after.broken, "broken");
  return out;
}

std::string slotsAmiss(const Session& session) {
  for (const CacheLayer layer : session.store().layers()) {
    if (session.parts().layouts.layout(layer).name() != "indirection") continue;
    Marks given(static_cast<std::size_t>(session.store().pool(layer).slots()));
    const Marks named = namedSlots(session, layer, given);
    const Marks free = session.store().slots(layer).free(static_cast<std::int32_t>(named.size()));
    for (std::size_t slot = 0; slot < named.size(); ++slot) {
      const bool lost = !named[slot] && !given[slot] && !free[slot];
      if (lost || (named[slot] && free[slot]))
        return (lost ? "lost: slot " : "kept and free: slot ") + std::to_string(slot) + " of layer " +
            std::to_string(layer.value());
    }
  }
  return {};
}

}  // namespace kvlab::random_sessions
