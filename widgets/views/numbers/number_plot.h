// SPDX-License-Identifier: GPL-3.0-or-later
// Series over ticks: one plot per unit, one above the other along a common axis of ticks, with a cursor that follows
// the pointer or arrow keys. Hides QCustomPlot from other code. GUI thread.
#pragma once
#include <QWidget>
#include <memory>

#include "widgets/views/numbers/tick_series.h"

namespace kvlab {

class NumberPlot : public QWidget {
  Q_OBJECT
 public:
  explicit NumberPlot(QWidget* parent);
  ~NumberPlot() override;

  /// Shows these series; `stacked` stacks the steps of the latency panel.
  void show(const TickSeries& series, const std::vector<QString>& ids, bool stacked);
  /// Times and bytes on logarithmic axes, steps beside each other instead of stacked.
  void setLogarithmic(bool logarithmic);
  /// Ends the axes of times below rare peaks, such as that of a prompt, which would flatten all other ticks. The title
  /// says which ticks go higher.
  void setClipped(bool clipped);
  /// The tick that the window shows, drawn as a line through all plots.
  void setShown(double tick);
  /// Index of the cursor in ticks(); -1 = none.
  int cursor() const;
  void setCursorAt(int place);
  void zoom(double factor);
  void resetZoom();
  bool zoomed() const;
  void follow();  // takes colours and fonts of the theme in use
  int panels() const;
  QString panelTitle(int panel) const;
  bool logarithmic(int panel) const;
  /// Values at the ends of a panel, for tests.
  double bottom(int panel) const;
  double top(int panel) const;
  /// Pixel of a tick, for tests.
  QPointF pointOf(double tick) const;

 signals:
  void cursorMoved(int place);
  void picked(double tick);
  void zoomChanged();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Parts;
  void moveCursor(int by);
  std::unique_ptr<Parts> m_parts;
};

}  // namespace kvlab
