// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of coloured cells over the rows of a context, as the map and the matrix of attention have them: the cells as
// one image, and frames around chosen rows. GUI thread. Device-independent pixels.
#pragma once
#include <QImage>
#include <QRect>
#include <vector>

#include "widgets/base/inspector_context.h"
#include "widgets/canvas/axis_map.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/max_pyramid.h"

class QPainter;

namespace kvlab {

struct CellGrid {
  const MaxPyramid& cells;
  const AxisMap& axis;  // its first pixel is the left of `area`
  QRect area;
  std::vector<int> tops;  // [lines + 1] y of each line, and the end of the last one
  bool ruled;             // a gap between lines
};

/// Size of the image of an area, in pixels of the device.
QSize cellImageSize(const QRect& area, double dpr);
/// The cells of the area at a scale; where rows are wide enough, gaps stand between rows, too.
QImage cellImage(const CellGrid& grid, double dpr, const ColourTable& colours, const Theme& theme);
/// Selected rows that lie side by side share a frame, and a bar above it that ends at `barBottom`.
void paintSelectedRows(QPainter& painter, const InspectorContext& context, const Column<LedgerId>& rows,
                       const AxisMap& axis, const QRect& area, int barBottom, const Theme& theme);

}  // namespace kvlab
