// SPDX-License-Identifier: Apache-2.0
// Verbs for notes and bookmarks.
#include <algorithm>

#include "core/verbs/verb_layers.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

Error noNote(std::int64_t id, const std::string& what) {
  return {"no_note", what, "there is no note " + std::to_string(id), "s.notes() lists all of them", "id", id};
}

json listOf(const Session& session) {
  const NoteList all = session.notes().views(session.timeline());
  return all ? listJson(*all) : json::array();
}

/// The note as readers see it.
json published(Session& session, std::int64_t id) {
  session.publish();
  for (json& one : listOf(session))
    if (one["id"] == id) return one;
  return nullptr;
}

std::string noteText(VerbArgs& in) {
  std::string text = in.text("text");
  if (text.size() > kMostNoteBytes)
    in.fail("text", std::to_string(text.size()) + " bytes",
            "has " + std::to_string(text.size()) + " bytes, the limit is " + std::to_string(kMostNoteBytes));
  return text;
}

/// The place of the note, as far as the call names it.
Result<NoteView> placed(const Session& session, VerbArgs& in) {
  NoteView note;
  note.text = noteText(in);
  const auto least = [](std::int64_t count) { return std::max<std::int64_t>(count, 1) - 1; };
  if (in.has("kvHead") && !in.has("layer")) in.fail("kvHead", in.raw("kvHead"), "needs a layer");
  const int layers = session.cacheLayers().layers, heads = session.model().config().kvHeads;
  if (in.has("layer")) note.layer = Layer(static_cast<std::int32_t>(in.within("layer", 0, least(layers))));
  if (in.has("kvHead")) note.kvHead = Head(static_cast<std::int32_t>(in.within("kvHead", 0, least(heads))));
  if (in.error()) return *in.error();
  if (in.has("ledger")) note.ledger = KV_TRY(knownRow(in, session, "ledger"));
  return note;
}

/// The entry of the timeline that a note is about: the tick that the call names, else the present one.
Result<int> entryOf(const Session& session, const VerbArgs& in) {
  const Timeline& timeline = session.timeline();
  const Tick tick(in.integer("tick", session.state().tick.value()));
  if (tick == session.state().tick) return timeline.currentId();
  const int entry = timeline.find(tick);
  if (entry >= 0) return entry;
  return Error("out_of_range", "the note was not written",
               "branch " + timeline.branch() + " has no tick " + std::to_string(tick.value()),
               "ticks run from 0 to the newest one", "tick", tick.value());
}

Result<json> noteVerb(Session& session, VerbArgs& in) {
  NoteView note = KV_TRY(placed(session, in));
  const int entry = KV_TRY(entryOf(session, in));
  if (session.notes().size() >= kMostNotes)
    return Error("too_many_notes", "the note was not written",
                 "the session has " + std::to_string(kMostNotes) + " notes", "remove some with clearNotes", "text");
  note.tick = session.timeline().entry(entry).tick;
  return published(session, session.notes().add(std::move(note), session.timeline(), entry));
}

Result<json> changeNote(Session& session, VerbArgs& in) {
  const auto id = static_cast<int>(in.integer("id"));
  if (!session.notes().find(id)) return noNote(id, "no note was changed");
  std::string text = noteText(in);
  if (in.error()) return *in.error();
  session.notes().change(id, std::move(text));
  return published(session, id);
}

Result<json> clearNotes(Session& session, VerbArgs& in) {
  if (!in.has("id")) session.notes().clear();
  else if (!session.notes().remove(static_cast<int>(in.integer("id"))))
    return noNote(in.integer("id"), "no note was removed");
  session.publish();
  return listOf(session);
}

/// The number of a branch that has the entry of a note; empty if the entry lies on the current branch. Refused while a
/// capture is written: the capture may lack that branch.
Result<std::optional<int>> otherBranch(const Session& session, const NoteView& note) {
  const Timeline& timeline = session.timeline();
  if (timeline.along(timeline.entry(note.entry).depth) == note.entry) return std::optional<int>();
  if (session.history().capture())
    return Error("capturing", "the session stays where it is",
                 "note " + std::to_string(note.id) + " stands on branch " + note.branch +
                     ", and the capture that runs has " + timeline.branch(),
                 "end the capture with stopCapture", "id", note.id);
  return std::optional(timeline.branchNamed(note.branch));
}

Result<json> goToNote(Session& session, VerbArgs& in) {
  const NoteView* note = session.notes().find(static_cast<int>(in.integer("id")));
  if (!note) return noNote(in.integer("id"), "the session stays where it is");
  if (note->entry < 0)
    return Error("note_lost", "the session stays where it is",
                 "the history of the session does not have the state of note " + std::to_string(note->id) +
                     ", which was written at tick " + std::to_string(note->tick.value()) + " of " + note->branch,
                 "open the capture or run the script that led there", "id", note->id);
  const std::optional<int> branch = KV_TRY(otherBranch(session, *note));
  KV_TRY(session.travel(note->entry, {}, branch));
  return json{{"tick", session.state().tick.value()}, {"branch", session.timeline().branch()}};
}

}  // namespace

std::span<const Verb> noteVerbs() {
  constexpr std::int64_t kMostTick = std::int64_t{1} << 40;
  const ArgInfo id = arg::integer("id", 0, kMostId);
  static const Verb kVerbs[] = {
      {verb::marks("note",
                   {arg::text("text").orElse(""), arg::integer("tick", 0, kMostTick).orNone(), layerArg().orNone(),
                    headArg(), arg::integer("ledger", 0, kMostId).orNone()},
                   "Writes a note at a tick of this branch, the present one unless given, and where it applies at a "
                   "layer, a KV head and a row of the ledger; without text it is a bookmark. Notes are no part of a "
                   "state: undo leaves them alone. Captures keep them, and forks have them.",
                   "Note"),
       noteVerb},
      {verb::marks("changeNote", {id, arg::text("text")}, "Gives a note another text.", "Note"), changeNote},
      {verb::marks("clearNotes", {id.orNone()},
                   "Removes all notes, or the one with this id, and gives those that are left.", "Note[]"),
       clearNotes},
      {verb::travels("gotoNote", {id},
                     "Goes to the state of a note, on whichever branch; the future stays as a named branch.", "Where"),
       goToNote},
  };
  return kVerbs;
}

}  // namespace kvlab
