// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep that runs next to the window: a job on a thread of its own, shown in the context. One at a time; owned by the
// window, which joins the thread. GUI thread.
#pragma once
#include <QObject>
#include <atomic>
#include <thread>

#include "app/engine/live_context.h"
#include "core/api/sweep_run.h"

namespace kvlab {

class SweepJob : public QObject {
  Q_OBJECT
 public:
  using Done = std::function<void(const Result<nlohmann::json>&)>;

  explicit SweepJob(LiveContext& context);
  ~SweepJob() override;

  void stop() { m_stop = true; }
  /// Seconds that a cell took in the last sweep; -1 = there was none.
  double pace() const { return m_pace; }
  /// Starts {"spec": object or path, "out", "jobs", "resume"}. `done` is called later, from the event loop, with {name,
  /// out, cells, found, failed, points, rows}. Errors: busy, bad_argument.
  bool running() const { return m_running; }
  Status start(const nlohmann::json& request, Done done);
  /// Shows results.jsonl, or else the journal of a folder. Errors: unreadable_file, bad_results.
  Status open(const QString& path);

 private:
  void show(std::vector<SweepRow> rows, std::int64_t total, bool running, double left);
  bool took(const SweepProgress& progress);
  void finish(const Result<SweepOutcome>& outcome, const std::string& out);
  void endJob(const Result<SweepOutcome>& outcome);

  LiveContext& m_context;
  Done m_done;
  std::string m_name, m_place;
  std::vector<SweepRow> m_rows;
  bool m_running = false;
  int m_job = 0;
  double m_pace = -1;
  std::atomic<bool> m_stop{false};
  std::thread m_thread;
};

}  // namespace kvlab
