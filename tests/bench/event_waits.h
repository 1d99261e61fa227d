// SPDX-License-Identifier: GPL-3.0-or-later
// Measures how long events wait for the GUI thread: another thread posts one every millisecond, as input may come at
// any time, and each says when it was posted. Made and destroyed on the GUI thread, which also reads the result.
#pragma once
#include <QObject>
#include <atomic>
#include <thread>
#include <vector>

namespace kvlab {

class EventWaits : public QObject {
 public:
  EventWaits();
  ~EventWaits() override;
  /// Milliseconds of each event that has come, in the order of arrival.
  const std::vector<double>& waits() const { return m_waits; }

 protected:
  bool event(QEvent* event) override;

 private:
  std::vector<double> m_waits;
  std::atomic<bool> m_stop{false};
  std::thread m_thread;
};

}  // namespace kvlab
