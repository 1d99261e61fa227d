// SPDX-License-Identifier: Apache-2.0
#include "core/session/run_back.h"

#include <algorithm>

#include "core/session/observe.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

class LookBack {
 public:
  LookBack(Session& session, std::span<const Expression> conditions)
      : m_session(session), m_line(session.timeline()), m_conditions(conditions) {}

  Result<LastHeld> search() {
    KV_TRY(askable());
    int last = m_line.current().parent;
    const bool measures = needs(Need::Kl) || needs(Need::Exactness) || needs(Need::Attention);
    for (; !measures && last > 0 && canSee(last); last = m_line.entry(last).parent)
      if (const Expression* held = heldAt(sightOf(last))) return LastHeld{last, held};
    while (last > 0) {
      // Executed again from an anchor, rows may get other slots: fewer of them belong to older states then.
      const int first = needs(Need::Slots) ? 0 : std::max(0, m_line.anchored(m_line.entry(last).parent));
      if (const LastHeld held = KV_TRY(searchAgain(first, last)); held.entry >= 0) return held;
      last = first;
    }
    return LastHeld{};
  }

 private:
  Status askable() const {
    const auto stage = std::ranges::find_if(m_conditions, [](const Expression& one) { return one.needs(Need::Stage); });
    if (stage == m_conditions.end()) return ok();
    return Error{"bad_condition",
                 "the history was not searched",
                 "stage(..) holds inside ticks, and history has commits",
                 "leave stage(..) out",
                 std::nullopt,
                 "condition",
                 stage->text()};
  }
  bool needs(Need need) const {
    return std::ranges::any_of(m_conditions, [need](const Expression& one) { return one.needs(need); });
  }
  /// The first condition that holds; null = none.
  const Expression* heldAt(const Sight& at) const {
    const auto held = std::ranges::find_if(m_conditions, [&](const Expression& one) { return one.holds(at); });
    return held == m_conditions.end() ? nullptr : &*held;
  }
  /// True if the states before and behind a commit are kept, in pools of the same sizes if slots matter.
  bool canSee(int id) const {
    const Timeline::Entry &entry = m_line.entry(id), &before = m_line.entry(entry.parent);
    return entry.state && before.state && (!needs(Need::Slots) || entry.pools == before.pools);
  }
  Sight sightOf(int entry) const {
    Sight at;
    at.before.state = &*m_line.entry(m_line.entry(entry).parent).state;
    at.now.state = &*m_line.entry(entry).state;
    at.report = m_line.entry(entry).report.get();
    return at;
  }

  /// The last entry behind `first` up to `last` at which one of them held, by executing what lies between them again.
  Result<LastHeld> searchAgain(int first, int last) {
    const std::vector<int> path = m_line.path(last, first);
    Session& there = *KV_TRY(m_session.past().at(m_session, first, last));
    const std::int64_t attention = there.watching().attentionUntil;
    if (needs(Need::Attention)) keepAttention(there);
    bool cancelled = false;
    there.setProgress([&](const std::string&, std::int64_t, std::int64_t) {
      const std::int64_t all = m_line.depth(), left = m_line.entry(last).depth;
      cancelled = cancelled || !report(m_session.progress(), "looking back", all - left, all);
      return !cancelled;
    });
    LastHeld held;
    CacheState before = there.state();
    std::optional<std::vector<Exactness>> exactBefore = exactnessOf(there);
    const Status gone = there.travel(there.timeline().along(m_line.entry(last).depth), [&] {
      Sight at;
      at.before.state = &before;
      at.before.exactness = std::move(exactBefore);
      at.now = observeNow(there, [this](Need need) { return needs(need); });
      const int entry = path[static_cast<std::size_t>(there.timeline().depth() - m_line.entry(first).depth)];
      at.report = m_line.entry(entry).report.get();
      if (const Expression* by = heldAt(at)) held = {entry, by};
      before = there.state();
      exactBefore = std::move(at.now.exactness);
    });
    there.setProgress(m_session.progress());
    there.watching().attentionUntil = attention;
    if (needs(Need::Attention) || !gone) m_session.past().forget();  // its states tell more than those of the session
    if (cancelled)
      return Error{"cancelled", "the search was cancelled",
                   "at tick " + std::to_string(m_line.entry(last).tick.value()), "the session stays where it was"};
    if (!gone) return gone.error();
    return held;
  }

  std::optional<std::vector<Exactness>> exactnessOf(const Session& there) const {
    if (!needs(Need::Exactness)) return std::nullopt;
    return lastLayerExactness(there);
  }

  Session& m_session;
  const Timeline& m_line;
  std::span<const Expression> m_conditions;
};

}  // namespace

Result<LastHeld> lastHeld(Session& session, std::span<const Expression> conditions) {
  return LookBack(session, conditions).search();
}

Result<LastHeld> runBack(Session& session, std::span<const Expression> conditions) {
  KV_TRY(session.noOpenTick());
  const LastHeld held = KV_TRY(lastHeld(session, conditions));
  if (held.entry >= 0) KV_TRY(session.travel(held.entry));
  return held;
}

}  // namespace kvlab
