// SPDX-License-Identifier: GPL-3.0-or-later
// The places of the parts of a painted matrix. Values and a pure function; any thread. Device-independent pixels.
#pragma once
#include <QRectF>

namespace kvlab {

/// The requirements of a matrix.
struct MatrixShape {
  int lines = 0;
  int gutter = 34, right = 10;  // beside the cells: the names of the lines, and an edge
  int tokens = 0;               // height of the texts above the cells; 0 = none
  int leastRoom = 0;            // height that the other parts need beside the texts
  int tallest = 64;             // largest height of a line
  int lowest = 0;               // least height of a line; lines that do not fit then scroll
  int group = 0, gap = 0;       // lines that stand together, and the gap before the next ones
  int legend = 0;               // height
  bool overview = false, readout = true;
  bool frameLine = false;  // the focused line has a frame
};

struct MatrixParts {
  QRect ruler, tokens, cells, overview, legend, readout;
  double tall = 0;  // height of a line
  int lines = 0, group = 0, gap = 0, scrolled = 0;
  int allTall() const {
    return top(lines) + scrolled - cells.top();
  }  // height of the lines, also of those out of sight

  /// The part of a box within the cells, while lines are out of sight.
  QRectF seen(const QRectF& box) const { return scrolls() ? box & QRectF(cells) : box; }
  bool scrolls() const { return allTall() > cells.height(); }
  int top(int line) const;
  QRectF line(int line) const;
  /// -1 = above or below all lines.
  int lineAt(double y) const;
};

/// `scrolled`: pixels of the lines that are above the cells.
MatrixParts matrixParts(const MatrixShape& shape, QSize size, int scrolled);

}  // namespace kvlab
