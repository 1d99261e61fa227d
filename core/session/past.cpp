// SPDX-License-Identifier: Apache-2.0
#include "core/session/past.h"

#include <utility>

#include "core/session/session.h"

namespace kvlab {

Past::Past() = default;
Past::~Past() = default;

Result<Session*> Past::at(const Session& present, int entry) {
  const auto depth = static_cast<std::size_t>(present.timeline().entry(entry).depth);
  if (!m_session || depth >= m_entries.size() || m_entries[depth] != entry) {
    m_session.reset();
    m_session = KV_TRY(present.fork(&present));
    m_session->history().startAlong(present.history(), m_session->state());
    m_entries = present.timeline().path(present.timeline().tip());
  }
  std::unique_ptr<Session> session = std::move(m_session);  // back only if it got there
  session->setProgress(present.progress());
  KV_TRY(session->travel(session->timeline().along(static_cast<std::int32_t>(depth))));
  m_session = std::move(session);
  return m_session.get();
}

}  // namespace kvlab
