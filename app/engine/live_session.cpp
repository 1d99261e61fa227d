// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/engine/live_session.h"

#include <QMetaObject>
#include <utility>

#include "app/base/frozen_clock.h"
#include "core/api/guarded.h"

namespace kvlab {

LiveSession::LiveSession(EngineOpener opener, Reply opened)
    : m_thread(std::move(opener), std::move(opened), [this] {
        QMetaObject::invokeMethod(
            this, [this] { drain(); }, Qt::QueuedConnection);
      }) {}

EngineThread::Ticket LiveSession::send(const std::string& verb, const nlohmann::json& args, Reply reply) {
  const auto answered = [this, verb, args, reply = std::move(reply)](const Result<nlohmann::json>& result) {
    m_script.answered(verb, args, result, snapshot());
    if ((verb == "saveCapture" || verb == "startCapture") && result) markKept();
    reply(result);
  };
  const EngineThread::Ticket ticket = m_thread.submit(verb, args, answered);
  setBusy(true);
  return ticket;
}

void LiveSession::fork(Opened forked) {
  m_thread.fork([this, forked = std::move(forked)](const Result<EngineOpener>& opener) {
    if (!opener) return forked(opener.error());
    const auto self = std::make_shared<std::shared_ptr<LiveSession>>();  // keeps the session alive until it is open
    *self = std::make_shared<LiveSession>(*opener, [self, forked](const Result<nlohmann::json>& opened) {
      const std::shared_ptr<LiveSession> session = std::exchange(*self, nullptr);
      if (!opened) return forked(opened.error());
      forked(SessionPtr(session));
    });
    (*self)->setScript(m_script);
    (*self)->m_script.forked();
  });
  setBusy(true);
}

void LiveSession::keepRecovery(const std::string& path, Reply reply) {
  m_thread.keepRecovery(path, std::move(reply));
  setBusy(true);
}

void LiveSession::past(Tick tick, EngineThread::PastReply reply) {
  m_thread.past(tick, [this, reply = std::move(reply)](const Result<SnapshotPtr>& snapshot) {
    reply(snapshot && m_clockFrozen ? Result<SnapshotPtr>(withoutTimes(*snapshot)) : snapshot);
  });
}

/// Takes snapshots before replies, so that a reply finds the state after its command. A listener may fail, which takes
/// no reply from another, and may run an event loop, which takes newer mail meanwhile: mail keeps the session busy, and
/// never makes it busy again.
void LiveSession::drain() {
  const QPointer<LiveSession> alive(this);
  EngineMail mail = m_thread.collect();
  const auto safely = [&](const char* what, const auto& work) {
    if (!alive) return;
    const Status done = guarded(what, [&] { return work(), ok(); });
    if (alive && !done) emit failed(done.error());
  };
  for (const SnapshotPtr& snapshot : mail.snapshots) keep(snapshot);
  // As many leave as came: many at once would hold the events up.
  if (m_history.size() > kHistory) m_history.erase(m_history.begin(), m_history.end() - kHistory);
  if (mail.progress)
    safely("progress was not shown", [&] {
      emit progressed(QString::fromStdString(mail.progress->what), mail.progress->done, mail.progress->total);
    });
  if (!mail.snapshots.empty()) safely("a state was not shown", [&] { emit published(); });
  for (const auto& reply : mail.replies) safely("the reply to a command was not taken", reply);
  if (alive) setBusy((mail.busy && m_busy) || m_thread.busy());
}

void LiveSession::freezeClock() {
  if (std::exchange(m_clockFrozen, true)) return;
  for (SnapshotPtr& kept : m_history) kept = withoutTimes(kept);
}

/// Snapshots of another branch may lie beside the way to this one.
void LiveSession::keep(const SnapshotPtr& snapshot) {
  if (!m_history.empty() && m_history.back()->leaps != snapshot->leaps) m_history.clear();
  while (!m_history.empty() && m_history.back()->tick >= snapshot->tick) m_history.pop_back();
  m_history.push_back(m_clockFrozen ? withoutTimes(snapshot) : snapshot);
}

void LiveSession::setBusy(bool busy) {
  if (busy == m_busy) return;
  m_busy = busy;
  emit busyChanged();
}

}  // namespace kvlab
