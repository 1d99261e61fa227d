// SPDX-License-Identifier: GPL-3.0-or-later
// The GUI's side of one session: owns its engine thread, takes its mail, keeps its snapshots. Shared by the context
// that shows it and the scripts that use it. GUI thread only.
#pragma once
#include <QObject>
#include <QPointer>
#include <vector>

#include "app/base/session_script.h"
#include "app/engine/engine_thread.h"
#include "app/script/ports.h"

namespace kvlab {

class LiveSession : public QObject, public SessionPort {
  Q_OBJECT
 public:
  /// Number of kept snapshots. Snapshots share structure, so this limits the history, not the memory.
  static constexpr std::size_t kHistory = 4096;

  /// `opened` is called once, from the event loop, with null or the error.
  LiveSession(EngineOpener opener, Reply opened);

  void submit(const std::string& verb, const nlohmann::json& args, Reply reply) override { send(verb, args, reply); }
  /// The same; the ticket cancels this command alone.
  EngineThread::Ticket send(const std::string& verb, const nlohmann::json& args, Reply reply);
  void cancel(EngineThread::Ticket ticket) { m_thread.cancel(ticket); }
  void fork(Opened forked) override;
  /// Keeps a capture in this file in case that the program ends without a word (Engine::keepRecovery).
  void keepRecovery(const std::string& path, Reply reply);
  void query(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply) {
    m_thread.query(tag, verb, args, std::move(reply));
  }
  void fetch(const std::string& tag, const TileRequest& request, EngineThread::TileReply reply) {
    m_thread.fetch(tag, request, std::move(reply));
  }
  /// The snapshot of an earlier tick than those of history(); a newer request replaces this one.
  void past(Tick tick, EngineThread::PastReply reply);
  void cancel() override { m_thread.cancel(); }
  SnapshotPtr snapshot() const override { return m_history.empty() ? nullptr : m_history.back(); }
  /// Ascending ticks, oldest first; undo and goto drop later ticks, and a way to another branch those that may not lie
  /// on it.
  const std::vector<SnapshotPtr>& history() const { return m_history; }
  bool busy() const { return m_busy; }
  /// Records from now on.
  void setScript(SessionScript script) {
    m_script = std::move(script);
    markKept();
  }
  const SessionScript& script() const { return m_script; }
  /// Marks the work so far as kept: the session is as it was opened, or a capture has it.
  void markKept() { m_kept = m_script.calls(); }
  bool isKept() const { return m_kept == m_script.calls(); }
  /// The session was left by a program that crashed: no file of the person has its work.
  void markRestored() {
    m_restored = true;
    m_kept = -1;
  }
  bool isRestored() const { return m_restored; }
  /// As the person calls the session; empty = it has no name.
  void setName(const QString& name) { m_name = name; }
  const QString& name() const { return m_name; }
  /// Removes measured times from all snapshots, also from those of the history.
  void freezeClock();

 signals:
  void published();
  void busyChanged();
  void progressed(const QString& what, qint64 done, qint64 total);
  /// Whoever waited for a reply could not take it.
  void failed(const kvlab::Error& error);

 private:
  void drain();
  void keep(const SnapshotPtr& snapshot);
  void setBusy(bool busy);

  QString m_name;
  std::vector<SnapshotPtr> m_history;
  SessionScript m_script;
  std::int64_t m_kept = 0;  // calls of the script up to which all can be had again
  bool m_restored = false, m_busy = true, m_clockFrozen = false;
  EngineThread m_thread;  // last member: its thread may call wake() until it has ended
};

}  // namespace kvlab
