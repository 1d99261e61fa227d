// SPDX-License-Identifier: Apache-2.0
#include "core/session/look_back.h"

#include <algorithm>

#include "core/session/check_marks.h"
#include "core/session/observe.h"
#include "core/session/truth.h"

namespace kvlab {

bool LookBack::needsMeasurement() const {
  return m_needs(Need::Kl) || m_needs(Need::Errors) || m_needs(Need::Exactness) || m_needs(Need::Attention);
}

/// True if the states before and behind a commit are kept, in pools of the same sizes if slots matter.
bool LookBack::canSee(int id) const {
  const Timeline::Kept* now = m_line.entry(id).kept.get();
  const Timeline::Kept* before = m_line.entry(m_line.entry(id).parent).kept.get();
  return !needsMeasurement() && now && before && (!m_needs(Need::Slots) || now->pools == before->pools);
}

Sight LookBack::sightOf(int entry) const {
  const Timeline::Entry& here = m_line.entry(entry);
  return {.before = {m_line.entry(here.parent).state()},
          .now = {here.state()},
          .report = here.report.get(),
          .named = CheckMarks::anyNamed(here.checks)};
}

/// The entry from which commands are executed again to show the commits up to `last`. Executed again from an anchor,
/// rows may get other slots: fewer of them belong to older states then.
int LookBack::stretchBegin(int last) const {
  return m_needs(Need::Slots) ? 0 : std::max(0, m_line.anchored(m_line.entry(last).parent));
}

Status LookBack::forward(int first, int last, const See& see) {
  const std::vector<int> path = m_line.path(last, first);
  for (std::size_t i = 1; i < path.size();) {
    if (canSee(path[i])) {
      see(sightOf(path[i]), path[i]);
      ++i;
      continue;
    }
    std::size_t end = i + 1;  // end of the stretch that is executed again
    const auto anchored = [&](int id) { return m_line.entry(id).anchor && !m_needs(Need::Slots); };
    while (end < path.size() && !canSee(path[end]) && !anchored(path[end - 1])) ++end;
    const int from = stretchBegin(path[end - 1]), known = m_line.entry(path[i - 1]).depth;
    KV_TRY(execute(from, path[end - 1], [&](const Sight& at, int entry) {
      if (m_line.entry(entry).depth > known) see(at, entry);
    }));
    i = end;
  }
  return ok();
}

/// Shows the commits behind `first` up to `last`, by executing them again.
Status LookBack::execute(int first, int last, const See& see) {
  const std::vector<int> path = m_line.path(last, first);
  Session& there = *KV_TRY(m_session.past().at(m_session, first, last));
  const std::int64_t attention = there.watching().attentionUntil;
  if (m_needs(Need::Attention)) keepAttention(there);
  bool cancelled = false;
  there.setProgress([&](const std::string&, std::int64_t, std::int64_t) {
    const std::int64_t all = m_line.depth(), left = m_line.entry(last).depth;
    cancelled = cancelled || !report(m_session.progress(), "looking back", all - left, all);
    return !cancelled;
  });
  SightState then = observeBefore(there, m_needs);
  CacheState before = there.state();
  const Status gone = there.travel(there.timeline().along(m_line.entry(last).depth), [&] {
    Sight at;
    at.before = std::move(then);
    at.before.state = &before;
    at.now = observeNow(there, m_needs);
    const int entry = path[static_cast<std::size_t>(there.timeline().depth() - m_line.entry(first).depth)];
    at.report = m_line.entry(entry).report.get();
    at.named = CheckMarks::anyNamed(m_line.entry(entry).checks);
    see(at, entry);
    before = there.state();
    then = std::move(at.now);
  });
  there.setProgress(m_session.progress());
  there.watching().attentionUntil = attention;
  if (m_needs(Need::Attention) || !gone) m_session.past().forget();  // its states tell more than those of the session
  if (cancelled)
    return Error("cancelled", "the search was cancelled", "at tick " + std::to_string(m_line.entry(last).tick.value()),
                 "the session stays where it was");
  return gone;
}

Result<int> LookBack::lastOf(int last, const Test& test) {
  for (; last > 0 && canSee(last); last = m_line.entry(last).parent)
    if (test(sightOf(last), last)) return last;
  while (last > 0) {
    const int first = stretchBegin(last);
    int found = -1;
    KV_TRY(execute(first, last, [&](const Sight& at, int entry) {
      if (test(at, entry)) found = entry;
    }));
    if (found >= 0) return found;
    last = first;
  }
  return -1;
}

Result<int> LookBack::firstOf(int first, int last, const Test& test) {
  const std::vector<int> path = m_line.path(last, first);
  for (std::size_t i = 1; i < path.size();) {
    std::size_t end = i;  // last of a stretch
    while (end + 1 < path.size() && !m_line.entry(path[end]).anchor) ++end;
    int found = -1;
    KV_TRY(forward(path[i - 1], path[end], [&](const Sight& at, int entry) {
      if (found < 0 && test(at, entry)) found = entry;
    }));
    if (found >= 0) return found;
    i = end + 1;
  }
  return -1;
}

namespace {

Status askable(std::span<const Expression> conditions) {
  const auto stage = std::ranges::find_if(conditions, [](const Expression& one) { return one.needs(Need::Stage); });
  if (stage == conditions.end()) return ok();
  return Error("bad_condition", "the history was not searched", "stage(..) holds inside ticks, and history has commits",
               "leave stage(..) out", "condition", stage->text());
}

}  // namespace

Result<Held> lastHeld(Session& session, std::span<const Expression> conditions) {
  KV_TRY(askable(conditions));
  LookBack back(session, [conditions](Need need) {
    return std::ranges::any_of(conditions, [need](const Expression& one) { return one.needs(need); });
  });
  const Expression* by = nullptr;
  const int entry = KV_TRY(back.lastOf(std::max(0, session.timeline().current().parent), [&](const Sight& at, int) {
    const auto held = std::ranges::find_if(conditions, [&](const Expression& one) { return one.holds(at); });
    if (held != conditions.end()) by = &*held;
    return held != conditions.end();
  }));
  return Held{entry, by};
}

Result<Held> runBack(Session& session, std::span<const Expression> conditions) {
  KV_TRY(session.noOpenTick());
  const Held held = KV_TRY(lastHeld(session, conditions));
  if (held.entry >= 0) KV_TRY(session.travel(held.entry));
  return held;
}

}  // namespace kvlab
