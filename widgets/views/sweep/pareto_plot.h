// SPDX-License-Identifier: GPL-3.0-or-later
// The Pareto plot of a sweep: recall against budget with 95 % intervals, beside (or above) KL against bytes; one line
// per series, and a ring around the marked point in both. Hides QCustomPlot. GUI thread.
#pragma once
#include <QWidget>
#include <memory>
#include <vector>

#include "core/api/sweep_table.h"

namespace kvlab {

class ParetoPlot : public QWidget {
  Q_OBJECT
 public:
  explicit ParetoPlot(QWidget* parent);
  ~ParetoPlot() override;

  /// Shows the points of one prompt set. `series` are all names in the order of their colours, including hidden ones.
  void show(std::vector<SweepPoint> points, std::vector<std::string> series);
  const std::vector<SweepPoint>& points() const;
  /// The marked point, -1 = none.
  int marked() const;
  void mark(int point);
  /// Pixel of a point in a panel (0 recall, 1 KL); null if it is not drawn.
  QPointF pointOf(int point, int panel) const;
  void follow();  // takes colours and fonts of the theme in use

 signals:
  void hovered(int point);
  void picked(int point);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Parts;
  int nearest(const QPointF& at) const;
  std::unique_ptr<Parts> m;
};

}  // namespace kvlab
