// SPDX-License-Identifier: GPL-3.0-or-later
// Views in windows of their own paint in turns: after each slice of painting the event loop handles the events that
// came meanwhile, so that input never waits until all windows have painted. Other windows paint at once. GUI thread.
#pragma once
#include <QDockWidget>
#include <QPointer>
#include <QTimer>
#include <deque>

namespace kvlab {

class PaintTurns : public QObject {
  Q_OBJECT
 public:
  /// Works for all windows of the program as long as it lives.
  explicit PaintTurns(QObject* parent);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void paintSome();

  std::deque<QPointer<QDockWidget>> m_waiting;
  QTimer m_idle;  // fires when no event waits
  bool m_painting = false;
};

}  // namespace kvlab
