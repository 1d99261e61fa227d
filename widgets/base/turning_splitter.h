// SPDX-License-Identifier: GPL-3.0-or-later
// Two panes side by side where the view is wide, one above the other where it is narrow. Turning sets
// their sizes anew; between turns they are the person's. GUI thread.
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

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  int m_wideFrom;
  Cut m_wide, m_tall;
  bool m_placed = false;
};

}  // namespace kvlab
