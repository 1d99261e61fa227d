// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep that runs next to the window: a job on a thread of its own, shown in the context. One at a time; owned by the
// window, which joins the thread. GUI thread.
#pragma once
#include <QObject>
#include <atomic>
#include <thread>

#include "app/engine/live_context.h"
#include "core/api/sweep_table.h"

namespace kvlab {

class SweepJob : public QObject, public SweepPort {
  Q_OBJECT
 public:
  explicit SweepJob(LiveContext& context);
  ~SweepJob() override;

  void start(const nlohmann::json& request, Reply reply) override;
  void stop() override { m_stop = true; }
  bool running() const override { return m_running; }
  Status open(const QString& path) override;
  /// Seconds that a cell took in the last sweep; -1 = there was none.
  double pace() const { return m_pace; }

 private:
  void show(std::vector<SweepRow> rows, std::int64_t total, bool running, double left);
  bool took(const SweepProgress& progress);
  void finish(const Result<SweepOutcome>& outcome, const std::string& out);
  void endJob(const Result<SweepOutcome>& outcome);

  LiveContext& m_context;
  Reply m_reply;
  std::string m_name, m_place;
  std::vector<SweepRow> m_rows;
  bool m_running = false;
  int m_job = 0;
  double m_pace = -1;
  std::atomic<bool> m_stop{false};
  std::thread m_thread;
};

}  // namespace kvlab
