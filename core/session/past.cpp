// SPDX-License-Identifier: Apache-2.0
#include "core/session/past.h"

#include <algorithm>
#include <utility>

#include "core/session/session.h"

namespace kvlab {

Past::Past() = default;
Past::~Past() = default;

Result<Session*> Past::at(const Session& present, int entry, int last) {
  const Timeline& timeline = present.timeline();
  const auto depthOf = [&](int id) { return static_cast<std::size_t>(timeline.entry(id).depth); };
  const auto known = [&](int id) { return depthOf(id) < m_entries.size() && m_entries[depthOf(id)] == id; };
  last = std::max(entry, last);
  if (std::exchange(m_starts, timeline.starts()) != timeline.starts()) forget();
  if (!m_session || !known(entry) || !known(last)) {
    m_session.reset();
    m_entries = timeline.path(timeline.tip());
    m_session = KV_TRY(present.fork(&present, true));
  }
  std::unique_ptr<Session> session = std::move(m_session);  // back only if it got there
  session->setProgress(present.progress());
  const auto go = [&](int id) { return session->travel(session->timeline().along(timeline.entry(id).depth)); };
  if (!known(last)) {
    KV_TRY(go(timeline.parting(last, timeline.tip())));
    m_entries = timeline.path(timeline.newestTip(last));
    session->health().alignment.cut(session->timeline().currentId());
    session->history().turnTo(present.history(), m_entries.back(), session->parts());
  }
  KV_TRY(go(entry));
  m_session = std::move(session);
  return m_session.get();
}

}  // namespace kvlab
