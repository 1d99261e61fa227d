// SPDX-License-Identifier: GPL-3.0-or-later
// Compaction in steps: each command moves some rows. Between two commands the window paints, and the job can be
// cancelled. Finished steps stay, and a later job continues. Owned by the context; deletes itself at the end. GUI
// thread.
#pragma once
#include <QObject>

#include "app/engine/live_context.h"

namespace kvlab {

/// Pages of all layers; layers with equal storage are counted once.
struct PageTotals {
  std::int64_t used = 0;    // pages
  std::int64_t needed = 0;  // pages that the rows need
  std::int64_t holes() const { return used - needed; }
};
PageTotals pageTotals(const Snapshot& snapshot);

class CompactJob : public QObject {
  Q_OBJECT
 public:
  CompactJob(LiveContext& context, std::int64_t rowsPerStep);
  void start();

 private:
  void step();
  void took(const Result<nlohmann::json>& reply);
  void end(JobState state, const QString& how);

  LiveContext& m_context;
  std::int64_t m_rows, m_moved = 0, m_bytes = 0;
  std::int64_t m_before = 0;  // pages to free
  bool m_cancelled = false;
  int m_job = 0;
  EngineThread::Ticket m_ticket = 0;
};

}  // namespace kvlab
