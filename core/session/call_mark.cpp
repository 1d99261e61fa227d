// SPDX-License-Identifier: Apache-2.0
#include "core/session/call_mark.h"

#include "core/api/guarded.h"

namespace kvlab {

CallMark::CallMark(Session& session, Of of)
    : m_session(session),
      m_place(session.timeline().place()),
      m_pending(session.pending()),
      m_health(session.m_health),
      m_logs(session.m_history.logEnds()),
      m_stage(session.m_stage) {
  if (of == Of::Call)
    m_beside =
        Beside{session.m_breakpoints, session.m_watches, session.m_notes, session.m_watching, session.m_parts.faults};
  if (session.m_open) m_open = reopeningOf(*session.m_open);
}

Error CallMark::takenBack(std::string_view what) {
  Error error = caught(what);
  History& history = m_session.m_history;
  history.beginCommand({}, nullptr);
  if (history.replaying()) return error;  // whoever executes commands again goes back himself
  m_session.m_witness = {};
  if (const Status back = guarded(what, [&] { return goBack(); }); !back)
    error.why += "; what the call had done by then stays";
  m_session.publish();
  return error;
}

Status CallMark::goBack() {
  const bool whole = closeTick();
  History& history = m_session.m_history;
  const Timeline& line = m_session.timeline();
  if (whole && line.starts() == m_place.starts) {
    if (line.currentId() != m_place.current) KV_TRY(m_session.travel(m_place.current));
    if (line.size() > m_place.entries) {
      history.forgetFrom(m_place, m_session.m_parts);
      m_session.m_past.forget();
    }
    if (line.branch() != line.branches()[at(m_place.branch)].name) history.follow(m_place.branch);
    history.cutLogs(m_logs);
    m_session.m_health = std::move(m_health);
  }
  m_session.m_pending = std::move(m_pending);
  putBackBeside();
  if (m_open && !m_session.m_open) m_session.reopen(std::move(*m_open));
  return ok();
}

void CallMark::putBackBeside() {
  m_session.m_watches.forget();
  if (!m_beside) return;
  m_session.m_breakpoints = std::move(m_beside->breakpoints);
  m_session.m_watches = std::move(m_beside->watches);
  m_session.m_notes = std::move(m_beside->notes);
  m_session.m_watching = std::move(m_beside->watching);
  m_session.m_parts.faults = m_beside->faults;
}

/// An open tick stays if it stands where it stood at the mark; any other open tick goes, with the rows that it has
/// written. False if rows were lost and a rebuild has computed them again.
bool CallMark::closeTick() {
  const std::unique_ptr<OpenTick>& open = m_session.m_open;
  if (open && m_open && placeOf(*open) == m_open->place) {
    m_session.m_stage = m_stage;
    return true;
  }
  m_session.m_open.reset();
  m_session.m_stage = nullptr;
  return m_session.undone();
}

}  // namespace kvlab
