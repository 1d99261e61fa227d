// SPDX-License-Identifier: Apache-2.0
#include "core/session/past.h"

#include <algorithm>
#include <utility>

#include "core/session/session.h"

namespace kvlab {

Past::Past() = default;
Past::~Past() = default;

Result<Session*> Past::at(const Session& present, int entry, int last) {
  const auto depthOf = [&](int id) { return static_cast<std::size_t>(present.timeline().entry(id).depth); };
  const auto known = [&](int id) { return depthOf(id) < m_entries.size() && m_entries[depthOf(id)] == id; };
  if (!m_session || !known(entry) || !known(std::max(entry, last))) {
    m_session.reset();
    m_session = KV_TRY(present.fork(&present));
    m_session->history().startAlong(present.history(), m_session->state());
    m_entries = present.timeline().path(present.timeline().tip());
  }
  std::unique_ptr<Session> session = std::move(m_session);  // back only if it got there
  session->setProgress(present.progress());
  KV_TRY(session->travel(session->timeline().along(static_cast<std::int32_t>(depthOf(entry)))));
  m_session = std::move(session);
  return m_session.get();
}

}  // namespace kvlab
