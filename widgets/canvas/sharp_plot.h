// SPDX-License-Identifier: GPL-3.0-or-later
// QCustomPlot for views. Include it in .cpp files only. GUI thread.
#pragma once
#include <qcustomplot.h>

#include <cmath>
#include <functional>

#include "widgets/base/theme.h"
#include "widgets/figure/figure.h"

namespace kvlab {

/// A plot that stays sharp when rendered at another scale or into a vector picture.
class SharpPlot : public QCustomPlot {
 public:
  explicit SharpPlot(QWidget* parent) : QCustomPlot(parent) {
    setAttribute(Qt::WA_NoMousePropagation, false);  // a right click is for the view's menu
  }

 protected:
  void paintEvent(QPaintEvent* event) override {
    {
      QCPPainter painter(this);
      const bool sameScale = std::abs(painter.deviceTransform().m11() - bufferDevicePixelRatio()) < 1e-6;
      if (!sameScale || paintsFigure(painter)) {
        painter.setMode(QCPPainter::pmNoCaching, paintsFigure(painter));  // labels are texts, not images of them
        painter.fillRect(rect(), mBackgroundBrush);
        draw(&painter);
        return;
      }
    }
    QCustomPlot::paintEvent(event);
  }
};

/// Sets colours and fonts of an axis from the theme in use.
inline void followTheme(QCPAxis* axis) {
  const auto theme = Theme::current();
  axis->setTickLabelFont(theme->small);
  axis->setTickLabelColor(theme->muted);
  axis->setLabelFont(theme->small);
  axis->setLabelColor(theme->muted);
  axis->setBasePen(QPen(theme->border));
  axis->setTickPen(QPen(theme->border));
  axis->setSubTickPen(Qt::NoPen);
  axis->setTickLengthIn(0);
  axis->setTickLengthOut(3);
  axis->grid()->setPen(QPen(theme->grid));
  axis->grid()->setZeroLinePen(QPen(theme->border));
}

/// Sets background and all axes of a plot.
inline void followTheme(QCustomPlot& plot) {
  const auto theme = Theme::current();
  plot.setBackground(theme->surface);
  for (QCPAxisRect* rect : plot.axisRects())
    for (QCPAxis* axis : rect->axes()) followTheme(axis);
}

/// Paints the marks that follow the pointer over a plot, so that the plot is not drawn again.
class PlotOverlay : public QWidget {
 public:
  explicit PlotOverlay(QWidget* parent) : QWidget(parent) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAttribute(Qt::WA_NoSystemBackground);
  }
  std::function<void(QPainter&)> draw;

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    if (draw) draw(painter);
  }
};

}  // namespace kvlab
