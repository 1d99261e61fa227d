// SPDX-License-Identifier: GPL-3.0-or-later
// The GUI's end of one session: owns its engine thread, takes its mail, keeps its snapshots.
// Shared by the context that shows it and the scripts that drive it. GUI thread only.
#pragma once
#include <QObject>
#include <QPointer>
#include <vector>

#include "app/engine_thread.h"
#include "app/script/ports.h"

namespace kvlab {

class LiveSession : public QObject, public SessionPort {
  Q_OBJECT
 public:
  /// Snapshots kept for scrubbing. They share structure, so this bounds time travel, not memory.
  static constexpr std::size_t kHistory = 4096;
  using TileReply = std::function<void(const Result<std::shared_ptr<const Tile>>&)>;

  /// `opened` comes once, from the event loop: null or why the engine could not be opened.
  LiveSession(EngineOpener opener, Reply opened);

  void submit(const std::string& verb, const nlohmann::json& args, Reply reply) override;
  void fork(Opened forked) override;
  void query(const std::string& tag, const std::string& verb, const nlohmann::json& args, Reply reply);
  void fetch(const std::string& tag, const TileRequest& request, TileReply reply);
  void cancel() override { m_thread.cancel(); }
  SnapshotPtr snapshot() const override { return m_history.empty() ? nullptr : m_history.back(); }
  /// Oldest first, ticks ascending; going back forgets the ticks that are no longer behind us.
  const std::vector<SnapshotPtr>& history() const { return m_history; }
  bool busy() const { return m_busy; }
  /// Snapshots, those of the history too, hold no time that was measured.
  void freezeClock();

 signals:
  void published();
  void busyChanged();
  void progressed(const QString& what, qint64 done, qint64 total);

 private:
  void drain();
  void keep(const SnapshotPtr& snapshot);
  void setBusy(bool busy);

  std::vector<SnapshotPtr> m_history;
  bool m_busy = true, m_clockFrozen = false;
  EngineThread m_thread;  // last: its thread may wake us until it is gone
};

}  // namespace kvlab
