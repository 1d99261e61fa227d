// SPDX-License-Identifier: GPL-3.0-or-later
// QCustomPlot as the views use it. Include it in .cpp files only. GUI thread.
#pragma once
#include <qcustomplot.h>

#include <cmath>

#include "widgets/base/theme.h"

namespace kvlab {

/// A plot that stays sharp when it is rendered at another scale or into a vector picture.
class SharpPlot : public QCustomPlot {
 public:
  using QCustomPlot::QCustomPlot;

 protected:
  void paintEvent(QPaintEvent* event) override {
    {
      QCPPainter painter(this);
      const auto type = painter.paintEngine() ? painter.paintEngine()->type() : QPaintEngine::Raster;
      const bool sameScale = std::abs(painter.deviceTransform().m11() - bufferDevicePixelRatio()) < 1e-6;
      if (!sameScale || type == QPaintEngine::SVG) {
        painter.fillRect(rect(), palette().color(QPalette::Base));
        draw(&painter);
        return;
      }
    }
    QCustomPlot::paintEvent(event);
  }
};

/// Colours and fonts of an axis from the theme in use.
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

}  // namespace kvlab
