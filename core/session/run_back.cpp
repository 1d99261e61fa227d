// SPDX-License-Identifier: Apache-2.0
#include "core/session/run_back.h"

#include <algorithm>

#include "core/session/observe.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

class LookBack {
 public:
  LookBack(Session& session, const Expression& condition)
      : m_session(session), m_line(session.timeline()), m_condition(condition) {}

  Result<int> search() {
    if (needs(Need::Stage))
      return Error{"bad_condition",
                   "the history was not searched",
                   "stage(..) holds inside ticks, and history has commits",
                   "leave stage(..) out",
                   std::nullopt,
                   "condition",
                   m_condition.text()};
    int last = m_line.current().parent;
    const bool measures = needs(Need::Kl) || needs(Need::Exactness) || needs(Need::Attention);
    while (!measures && last > 0 && m_line.entry(last).state && m_line.entry(m_line.entry(last).parent).state) {
      if (m_condition.holds(sightOf(last))) return last;
      last = m_line.entry(last).parent;
    }
    while (last > 0) {
      const int first = std::max(0, m_line.anchored(m_line.entry(last).parent));
      if (const int held = KV_TRY(searchAgain(first, last)); held >= 0) return held;
      last = first;
    }
    return -1;
  }

 private:
  bool needs(Need need) const { return m_condition.needs(need); }
  Sight sightOf(int entry) const {
    Sight at;
    at.before.state = &*m_line.entry(m_line.entry(entry).parent).state;
    at.now.state = &*m_line.entry(entry).state;
    at.report = m_line.entry(entry).report.get();
    return at;
  }

  /// The last entry behind `first` up to `last` at which a condition held, by executing what lies between them again.
  Result<int> searchAgain(int first, int last) {
    const std::vector<int> path = m_line.path(last, first);
    Session& there = *KV_TRY(m_session.past().at(m_session, first));
    const std::int64_t attention = there.watching().attentionUntil;
    if (needs(Need::Attention)) keepAttention(there);
    bool cancelled = false;
    there.setProgress([&](const std::string&, std::int64_t, std::int64_t) {
      const std::int64_t all = m_line.depth(), left = m_line.entry(last).depth;
      cancelled = cancelled || !report(m_session.progress(), "looking back", all - left, all);
      return !cancelled;
    });
    int held = -1;
    CacheState before = there.state();
    std::optional<std::vector<Exactness>> exactBefore = exactnessOf(there);
    const Status gone = there.travel(there.timeline().along(m_line.entry(last).depth), [&] {
      Sight at;
      at.before.state = &before;
      at.before.exactness = std::move(exactBefore);
      at.now = observeNow(there, [this](Need need) { return needs(need); });
      const int entry = path[static_cast<std::size_t>(there.timeline().depth() - m_line.entry(first).depth)];
      at.report = m_line.entry(entry).report.get();
      if (m_condition.holds(at)) held = entry;
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
  const Expression& m_condition;
};

}  // namespace

Result<int> lastHeld(Session& session, const Expression& condition) { return LookBack(session, condition).search(); }

Result<int> runBack(Session& session, const Expression& condition) {
  KV_TRY(session.noOpenTick());
  const int entry = KV_TRY(lastHeld(session, condition));
  if (entry >= 0) KV_TRY(session.travel(entry));
  return entry;
}

}  // namespace kvlab
