// SPDX-License-Identifier: GPL-3.0-or-later
// Panes of a view, and how they share its room. GUI thread.
#pragma once
#include <QSplitter>
#include <QVBoxLayout>
#include <functional>

class QAbstractScrollArea;

namespace kvlab {

/// A column of widgets without gaps, as in views: the layout of `owner`.
inline QVBoxLayout* tightColumn(QWidget* owner) {
  auto* column = new QVBoxLayout(owner);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  return column;
}

/// Qt updates the visibility of scroll bars in the event loop. A view that is rendered without being shown would keep
/// unneeded bars; settleBars() updates them at once.
void settleBars(QAbstractScrollArea* area);

/// Two panes: side by side in wide views, one above the other in narrow views (or in tall ones, see setTallFrom). A
/// turn sets new sizes; afterwards the user may change them.
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
