// SPDX-License-Identifier: Apache-2.0
#include "core/session/requests.h"

#include <algorithm>

#include "core/api/texts.h"

namespace kvlab {
namespace {

Error outOfRange(const char* what, std::string why, std::string remedy, const char* field, nlohmann::json value) {
  return {"out_of_range", what, std::move(why), std::move(remedy), field, std::move(value)};
}

Error tooFar(const char* what, std::int64_t n, std::int64_t there) {
  return outOfRange(what, "the history has only " + std::to_string(there) + " such steps",
                    "give a number from 1 to " + std::to_string(there), "n", n);
}

}  // namespace

Status noDraft(const Session& session, const char* what) {
  if (!session.state().kind->draftedFrom()) return ok();
  return Error("speculating", what, "a speculative span is open", "accept it or roll it back first");
}

Status inject(Session& session, const std::vector<Action>& actions, Queue queue) {
  KV_TRY(session.changeable());
  KV_TRY(plan(session, actions, queue));
  std::vector<Action> all = queue == Queue::Behind ? session.pending() : std::vector<Action>();
  all.insert(all.end(), actions.begin(), actions.end());
  session.setPending(std::move(all));
  session.publish();
  return ok();
}

void clearPending(Session& session) {
  session.setPending({});
  session.publish();
}

Result<EditPlan> plan(const Session& session, const std::vector<Action>& actions, Queue queue) {
  std::vector<Action> all = queue == Queue::Behind ? session.pending() : std::vector<Action>();
  const int before = static_cast<int>(all.size());
  all.insert(all.end(), actions.begin(), actions.end());
  Result<EditPlan> planned = session.kind().plan(session.parts(), session.state(), std::move(all));
  if (planned || before == 0 || !planned.error().action || *planned.error().action < before) return planned;
  Error error = planned.error();
  error.action = *error.action - before;
  error.what = "action " + std::to_string(*error.action) + " was refused";
  return error;
}

Status setBrightness(Session& session, LedgerId id, double value) {
  return session.change([&](CallContext& call) -> Result<Commit> {
    Commit commit{session.state()};
    CacheState& next = commit.state;
    const auto found = std::find(next.context.begin(), next.context.end(), id);
    const double most = call.parts.manifest.brightness.max;
    if (found == next.context.end())
      return outOfRange("the brightness was not set",
                        "ledger row " + std::to_string(id.value()) + " is not in the context",
                        "pos2ledger() lists the ledger ids of the context", "ledger", id.value());
    if (!(value >= 0 && value <= most))
      return outOfRange("the brightness was not set", "the value is outside 0 .. " + nlohmann::json(most).dump(),
                        "give a value in that range", "value", value);
    std::vector<float> all(next.brightness.begin(), next.brightness.end());
    all[static_cast<std::size_t>(found - next.context.begin())] = static_cast<float>(value);
    next.brightness.assign(all);
    return commit;
  });
}

Status pin(Session& session, LedgerId id, bool on) {
  return session.change([&](CallContext&) -> Result<Commit> {
    Commit commit{session.state()};
    Ledger& ledger = commit.state.ledger;
    if (!ledger.contains(id))
      return outOfRange("the row was not pinned", "there is no ledger row " + std::to_string(id.value()),
                        "ledger ids run from 0 to " + std::to_string(static_cast<int>(ledger.size()) - 1), "ledger",
                        id.value());
    if (on) KV_TRY(session.state().kind->pinnable(session.state(), id));
    ledger.pin(id, on);
    return commit;
  });
}

Status undo(Session& session, std::int64_t n, HistoryStep by) {
  const Timeline& timeline = session.timeline();
  if (!timeline.canUndo())
    return Error("nothing_to_undo", "nothing was undone", "this is the start of the session",
                 "redo, or generate tokens");
  int target = timeline.currentId();
  for (std::int64_t done = 0; done < n; ++done) {
    if (target == 0) return tooFar("nothing was undone", n, done);
    target = by == HistoryStep::Edit ? timeline.beforeEdit(target) : timeline.entry(target).parent;
  }
  return session.travel(target);
}

Status redo(Session& session, std::int64_t n, HistoryStep by) {
  const Timeline& timeline = session.timeline();
  if (!timeline.canRedo())
    return Error("nothing_to_redo", "nothing was redone", "this is the newest state of the branch", "undo first");
  int target = timeline.currentId();
  for (std::int64_t done = 0; done < n; ++done) {
    const int next = timeline.along(timeline.entry(target).depth + 1);
    if (next < 0) return tooFar("nothing was redone", n, done);
    target = by == HistoryStep::Edit ? timeline.editEnd(next) : next;
  }
  return session.travel(target);
}

Status goTo(Session& session, Tick tick) { return session.travel(KV_TRY(entryAt(session, tick))); }

Result<int> branchNamed(const Session& session, const std::string& branch) {
  const Timeline& timeline = session.timeline();
  if (const int found = timeline.branchNamed(branch); found >= 0) return found;
  return Error("unknown_branch", "the branch was not found",
               "the history has no branch " + branch + nearestNote(branch, namesOf(timeline.branches())),
               "name one that branches() lists", "branch", branch);
}

Result<int> entryAt(const Session& session, Tick tick, const std::string& branch) {
  const Timeline& timeline = session.timeline();
  const int number = KV_TRY(branchNamed(session, branch.empty() ? timeline.branch() : branch));
  if (const int entry = timeline.find(tick, number); entry >= 0) return entry;
  const Timeline::Branch& there = timeline.branches()[at(number)];
  return outOfRange("the tick was not found", "branch " + there.name + " has no tick " + std::to_string(tick.value()),
                    "ticks run from 0 to " + std::to_string(timeline.entry(there.tip).tick.value()), "tick",
                    tick.value());
}

Status goTo(Session& session, Tick tick, const std::string& branch) {
  const int number = KV_TRY(branchNamed(session, branch));
  if (session.history().capture())
    return Error("capturing", "the session stays where it is", "a capture runs, and it has one branch only",
                 "end it with stopCapture, or name no branch", "branch", branch);
  const int entry = KV_TRY(entryAt(session, tick, branch));
  return session.travel(entry, {}, number);
}

Result<Session*> sessionAt(Session& session, Tick tick, const std::string& branch) {
  const bool here = branch.empty() || branch == session.timeline().branch();
  if (here && tick == session.state().tick) return &session;
  const int entry = KV_TRY(entryAt(session, tick, branch));
  return session.past().at(session, entry);
}

}  // namespace kvlab
