// SPDX-License-Identifier: GPL-3.0-or-later
// Two panes side by side where the view is wide, one above the other where it is narrow (or high, if it is told).
// Turning sets their sizes anew; between turns they are the person's. GUI thread.
#pragma once
#include <QSplitter>
#include <functional>

namespace kvlab {

class TurningSplitter : public QSplitter {
  Q_OBJECT
 public:
  /// Size of the first pane, given the extent of both, in pixels.
  using Cut = std::function<int(int extent)>;
  TurningSplitter(int wideFrom, Cut wide, Cut tall, QWidget* parent);
  /// From this height on they stand one above the other, however wide the view is.
  void setTallFrom(int height) { m_tallFrom = height; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  int m_wideFrom, m_tallFrom = QWIDGETSIZE_MAX;
  Cut m_wide, m_tall;
  bool m_placed = false;
};

}  // namespace kvlab
