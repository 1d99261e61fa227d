// SPDX-License-Identifier: GPL-3.0-or-later
// Fills the bands between stacked curves, one pixel column after the other. The time depends on the width of the plot
// and not on the number of ticks: a polygon over thousands of ticks that go up and down takes seconds. GUI thread.
#pragma once
#include <vector>

#include "widgets/canvas/sharp_plot.h"

namespace kvlab {

class PileFill : public QCPLayerable {
 public:
  /// One band: its colour, and the curve above it. The band ends at the curve before it, the first band at zero.
  struct Band {
    const QCPGraph* above = nullptr;
    QColor colour;
  };
  /// Lies below the curves of this part of the plot, which owns it.
  explicit PileFill(QCPAxisRect* rect) : QCPLayerable(rect->parentPlot(), QStringLiteral("main"), rect), m_rect(rect) {
    setParent(rect);
  }
  void setBands(std::vector<Band> bands) { m_bands = std::move(bands); }

 protected:
  QRect clipRect() const override { return m_rect->rect(); }
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }
  void draw(QCPPainter* painter) override;

 private:
  QCPAxisRect* m_rect;
  std::vector<Band> m_bands;
};

}  // namespace kvlab
