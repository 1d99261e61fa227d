// SPDX-License-Identifier: GPL-3.0-or-later
// Two panes: side by side in wide views, one above the other in narrow views (or in tall ones, see setTallFrom). A turn
// sets new sizes; afterwards the user may change them. GUI thread.
#pragma once
#include <QSplitter>
#include <functional>

namespace kvlab {

class TurningSplitter : public QSplitter {
  Q_OBJECT
 public:
  /// Size of the first pane for a given size of both, in pixels.
  using Cut = std::function<int(int extent)>;
  TurningSplitter(int wideFrom, Cut wide, Cut tall, QWidget* parent);
  /// Panes are one above the other from this height on, whatever the width.
  void setTallFrom(int height) { m_tallFrom = height; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  int m_wideFrom, m_tallFrom = QWIDGETSIZE_MAX;
  Cut m_wide, m_tall;
  bool m_placed = false;
};

}  // namespace kvlab
