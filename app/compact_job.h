// SPDX-License-Identifier: GPL-3.0-or-later
// Compaction as a job: the engine moves some rows per command, and between two commands the window paints,
// shows how far it is, and can cancel. What is done is done: another job goes on where this one ended.
// Owned by the context; deletes itself when it ends. GUI thread.
#pragma once
#include <QObject>

#include "app/live_context.h"

namespace kvlab {

/// Pages of all layers that are stored alike, once each.
struct PageTotals {
  std::int64_t used = 0;    // pages
  std::int64_t needed = 0;  // pages that the rows would fill
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
  void end(const QString& how);

  LiveContext& m_context;
  std::int64_t m_rows, m_moved = 0, m_bytes = 0;
  std::int64_t m_before = 0;  // pages to free
  bool m_cancelled = false;
};

}  // namespace kvlab
