// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/capture_session.h"

#include <algorithm>
#include <map>

#include "core/session/observe.h"
#include "core/session/requests.h"

namespace kvlab {
namespace {

/// True where an entry lies on the current branch, at `last` or before it.
bool liesBefore(const Timeline& timeline, int entry, int last) {
  if (entry < 0) return false;
  const std::int32_t depth = timeline.entry(entry).depth;
  return depth <= timeline.entry(last).depth && timeline.along(depth) == entry;
}

Error badAside(const std::string& path, const CaptureAside& aside, const std::string& why, const std::string& field) {
  return Error("bad_capture", "cannot replay " + path, aside.place + ": " + why, "use an undamaged copy of the capture",
               field);
}

/// "" or the part of a note's place that the session lacks.
std::string missing(const Session& session, const NoteView& note, int entry) {
  const std::string what = "note " + std::to_string(note.id) + " names ";
  const auto beyond = [](const auto& id, int count) { return id && id->value() >= count; };
  if (note.here && entry < 0)
    return what + "tick " + std::to_string(note.tick.value()) + ", which the branch does not have";
  if (beyond(note.layer, session.cacheLayers().layers)) return what + "a layer that the model does not have";
  if (beyond(note.kvHead, session.model().config().kvHeads)) return what + "a KV head that the model does not have";
  return {};
}

Status restoreNotes(Session& session, const CaptureAside& aside, const std::string& path) {
  for (const NoteView& note : aside.notes) {
    const bool known = session.notes().find(note.id) != nullptr;
    const int entry = note.here && !known ? session.timeline().find(note.tick) : -1;
    if (const std::string why = known ? std::string() : missing(session, note, entry); !why.empty())
      return badAside(path, aside, why, "notes");
    if (!known && session.notes().size() >= kMostNotes)
      return badAside(path, aside, "there are more than " + std::to_string(kMostNotes) + " notes", "notes");
    NoteView restored = note;
    if (note.here) restored.branch = session.timeline().branch();
    session.notes().restore(std::move(restored), entry);
  }
  for (const int id : aside.removed) session.notes().remove(id);
  return ok();
}

Status restoreBreakpoints(Session& session, const CaptureAside& aside, const std::string& path) {
  std::vector<Breakpoints::Point> points;
  for (const BreakpointView& one : *aside.breakpoints) {
    Result<Expression> condition = readExpression(session, one.condition, true);
    if (!condition) return badAside(path, aside, condition.error().why, "condition");
    points.push_back({condition.take(), one});
    points.back().view.condition = points.back().condition.text();
  }
  session.breakpoints().restore(std::move(points));
  return ok();
}

Status restoreWatches(Session& session, const CaptureAside& aside, const std::string& path) {
  std::vector<std::pair<int, Expression>> watches;
  for (const WatchView& one : *aside.watches) {
    Result<Expression> expression = readExpression(session, one.expression, false);
    if (!expression) return badAside(path, aside, expression.error().why, "expression");
    watches.emplace_back(one.id, expression.take());
  }
  session.watches().restore(std::move(watches));
  return ok();
}

/// Actions that cannot be planned are none of this state; whether they fit is asked by the tick, which may make room.
void restoreActions(Session& session, const std::vector<Action>& actions) {
  session.setPending({});
  const Result<EditPlan> possible = plan(session, actions);
  if (possible || possible.error().code == "capacity" || possible.error().code == "over_budget")
    session.setPending(actions);
}

bool same(const std::vector<Action>& a, const std::vector<Action>& b) {
  return std::ranges::equal(
      a, b, {}, [](const Action& one) { return toJson(one); }, [](const Action& one) { return toJson(one); });
}

/// A list in the order of numbers has the note with this text.
bool has(const std::vector<NoteView>& list, const NoteView& note) {
  const auto found = std::ranges::lower_bound(list, note.id, {}, &NoteView::id);
  return found != list.end() && found->id == note.id && found->text == note.text;
}

}  // namespace

std::vector<CaptureAside> asidesOf(const Session& session, int tip) {
  const Timeline& timeline = session.timeline();
  const std::vector<PastCommand> commands = session.history().commands(tip);
  const auto behind = [&](int entry) {
    const auto made = [&](const PastCommand& one) {
      return timeline.entry(one.last).depth < timeline.entry(entry).depth;
    };
    const auto first = std::ranges::find_if_not(commands, made);
    return static_cast<std::size_t>(first - commands.begin()) + (timeline.entry(entry).parent < 0 ? 0 : 1);
  };
  std::map<std::size_t, CaptureAside> out;
  if (const auto points = session.breakpoints().views()) out[0].breakpoints = *points;
  if (std::vector<WatchView> watches = session.watches().list(); !watches.empty()) out[0].watches = std::move(watches);
  const NoteList notes = session.notes().views(timeline);
  for (NoteView note : notes ? *notes : std::vector<NoteView>()) {
    note.here = liesBefore(timeline, note.entry, tip);
    out[note.here ? behind(note.entry) : 0].notes.push_back(std::move(note));
  }
  std::vector<CaptureAside> all;
  for (auto& [after, aside] : out) all.push_back(std::move(aside)), all.back().after = after;
  return all;
}

CaptureAside asideSince(const Session& session, const CaptureMark& mark) {
  CaptureAside out;
  const NoteList& before = mark.notes;
  const Timeline& timeline = session.timeline();
  const NoteList now = session.notes().views(timeline);
  const std::vector<NoteView> none, &old = before ? *before : none, &all = now ? *now : none;
  for (NoteView note : now == before ? none : all) {
    if (has(old, note)) continue;
    note.here = liesBefore(timeline, note.entry, timeline.tip());
    out.notes.push_back(std::move(note));
  }
  for (const NoteView& one : now == before ? none : old)
    if (!session.notes().find(one.id)) out.removed.push_back(one.id);
  if (const auto points = session.breakpoints().views(); points != mark.breakpoints)
    out.breakpoints = points ? *points : std::vector<BreakpointView>();
  if (std::vector<WatchView> list = session.watches().list(); list != mark.watches) out.watches = std::move(list);
  if (!same(session.pending(), mark.pending)) out.pending = session.pending();
  return out;
}

Status restoreAside(Session& session, const CaptureAside& aside, const std::string& path) {
  KV_TRY(restoreNotes(session, aside, path));
  if (aside.breakpoints) KV_TRY(restoreBreakpoints(session, aside, path));
  if (aside.watches) KV_TRY(restoreWatches(session, aside, path));
  if (aside.pending) restoreActions(session, *aside.pending);
  session.publish();
  return ok();
}

}  // namespace kvlab
