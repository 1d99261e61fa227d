// SPDX-License-Identifier: GPL-3.0-or-later
// Commands for notes: bookmark, write, change, remove, go there, export.
#include <algorithm>

#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "app/commands/notes_export.h"
#include "core/api/read_json.h"
#include "widgets/base/note_place.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

/// Runs a verb that changes notes. A person who looks at an older tick goes on looking at it.
Status changeNotes(CommandHost& host, const char* verb, const Json& args, const QString& done) {
  LiveContext& context = host.context();
  const auto answer = context.answer([&context, done](const Result<Json>& reply) {
    if (!reply) emit context.failed(reply.error());
    else emit context.noted(done);
  });
  say(context, verb, args);
  const auto answered = [&context, answer, back = !context.following(),
                         tick = context.snapshot()->tick](const Result<Json>& reply) {
    if (back) context.showTick(tick);
    answer(reply);
  };
  context.send(verb, args, &context, answered);
  return ok();
}

/// The shown tick with the focused row, where the arguments name no place.
Json noteArgs(const CommandHost& host, const Json& given) {
  const auto named = [&](const char* field) { return given.contains(field); };
  const bool place = std::ranges::any_of(std::initializer_list{"tick", "layer", "kvHead", "ledger"}, named);
  Json args = place ? Json{{"tick", host.context().snapshot()->tick.value()}} : notePlace(host.context());
  args.update(given);
  return args;
}

QString atTick(const Json& args) { return QString("tick %1").arg(memberOr(args, "tick", qint64{0})); }

/// The bookmark at a place; null = none.
const NoteView* bookmarkAt(const std::vector<NoteView>& notes, const Json& place) {
  const auto same = [&](const auto& id, const char* field) {
    return id ? member(place, field) == id->value() : !place.contains(field);
  };
  const auto found = std::ranges::find_if(notes, [&](const NoteView& one) {
    return one.text.empty() && one.here && member(place, "tick") == one.tick.value() && same(one.layer, "layer") &&
        same(one.kvHead, "kvHead") && same(one.ledger, "ledger");
  });
  return found == notes.end() ? nullptr : &*found;
}

Status bookmark(CommandHost& host, const Json&) {
  const Json place = notePlace(host.context());
  const std::vector<NoteView> notes = notesOf(host.context());
  if (const NoteView* there = bookmarkAt(notes, place))
    return changeNotes(host, "clearNotes", {{"id", there->id}}, "Took the bookmark at " + atTick(place) + " away");
  return changeNotes(host, "note", place, "Bookmarked " + atTick(place));
}

/// A person types the text into the view Notes, and the note is written with it.
Status writeNote(CommandHost& host, const Json& given) {
  const Json args = noteArgs(host, given);
  if (!given.contains("text") && !host.context().asked()) {
    KV_TRY(host.views().showView("notes"));
    return emit host.context().noteAsked(args), ok();
  }
  const bool bare = memberOr(args, "text", std::string()).empty();
  return changeNotes(host, "note", args, (bare ? "Bookmarked " : "Wrote a note at ") + atTick(args));
}

Status changeNote(CommandHost& host, const Json& args) {
  return changeNotes(host, "changeNote", args, "Changed the note");
}

Status removeNote(CommandHost& host, const Json& args) {
  return changeNotes(host, "clearNotes", args, args.contains("id") ? "Removed the note" : "Removed all notes");
}

const NoteView* noteWith(const std::vector<NoteView>& notes, const Json& id) {
  const auto found = std::ranges::find_if(notes, [&](const NoteView& one) { return id == one.id; });
  return found == notes.end() ? nullptr : &*found;
}

/// The views show the state where they can; else the session goes there.
Status goToNote(CommandHost& host, const Json& args) {
  LiveContext& context = host.context();
  const std::vector<NoteView> notes = notesOf(context);
  const NoteView* note = noteWith(notes, member(args, "id"));
  if (note && canShow(context, *note)) return showNote(context, *note), ok();
  say(context, "gotoNote", args);
  context.submitThen("gotoNote", args, [&context, id = member(args, "id")](const Json&) {
    const std::vector<NoteView> now = notesOf(context);
    if (const NoteView* there = noteWith(now, id)) showNote(context, *there);
  });
  return ok();
}

Status exportTo(CommandHost& host, const QString& path, const QString& what) {
  const auto answer = host.context().answer([](const Result<Json>&) {});  // the job says where it is saved
  answer(KV_TRY(exportNotes(host, path, what)));
  return ok();
}

Status exportAll(CommandHost& host, const Json& args) {
  const QString what = QString::fromStdString(memberOr(args, "view", std::string("window")));
  return withPath(host, args, {"Export Notes", "Markdown (*.md)", true, ".md"},
                  [what](CommandHost& window, const QString& path) { return exportTo(window, path, what); });
}

const Rule needsNotes = rule(
    {}, [](const CommandHost& host) { return !notesOf(host.context()).empty(); },
    "there are no notes; Bookmark makes one");

}  // namespace

void addNoteCommands(std::vector<Command>& list) {
  const CommandArgument id{"id", "number", "the note's number, as s.notes() lists it", true};
  const CommandArgument text{"text", "string", "what the note says; typed in the view Notes when missing"};
  add(list,
      {"bookmark", "Bookmark", "Edit", "Bookmark the shown tick with the focused row, or take the bookmark away."},
      bookmark, needsSession, {.keys = {"Ctrl+M"}, .startsGroup = true});
  add(list, {"note", "Note…", "Edit", "Write a note about the shown tick and the focused row."}, writeNote,
      needsSession,
      {.keys = {"Ctrl+Shift+M"},
       .args = {text,
                {"tick", "number", "a tick of this branch; the shown one when missing"},
                {"layer", "number", "layer of the model; the focused one when no place is named"},
                {"kvHead", "number", "KV head of the layer"},
                {"ledger", "number", "ledger row; the focused one when no place is named"}}});
  add(list, {"note_change", "Change Note", "", "Give a note another text."}, changeNote, needsSession,
      {.args = {id, {"text", "string", "what the note says", true}}});
  add(list, {"note_remove", "Remove Notes", "", "Remove a note, or all of them."}, removeNote, needsSession,
      {.args = {{"id", "number", "the note's number; all notes when missing"}}, .bare = needsNotes});
  add(list, {"note_go", "Go to Note", "", "Show the place of a note, or bring the session to its state."}, goToNote,
      needsSession, {.args = {id}});
  add(list,
      {"notes_export", "Export Notes…", "File",
       "Write all notes as Markdown, with pictures beside it and the script lines that lead to each."},
      exportAll, allOf(needsIdle, needsNotes),
      {.args = {{"path", "string", "the file; asked for when missing"},
                {"view", "string", "what the pictures show: a view's id, or window"}}});
}

}  // namespace kvlab
