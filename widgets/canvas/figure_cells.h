// SPDX-License-Identifier: GPL-3.0-or-later
// The cells of a matrix in a vector picture: rectangles, those of one colour as one shape. GUI thread.
#pragma once
#include <QPainter>
#include <span>

#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/max_pyramid.h"

namespace kvlab {

/// Where the cells of a matrix lie. Line l covers [tops[l], tops[l + 1]); tops has layers + 1 entries.
struct CellPlaces {
  QRectF area;
  double first = 0, scale = 1;  // the item at the left edge, and pixels per item
  std::vector<double> tops = {};
  double between = 0, beside = 0;  // gaps between lines, and between items
};

/// Cells in sight that are more than a reader takes as shapes are an image.
constexpr std::int64_t kMostCellShapes = 100'000;
std::int64_t cellsInSight(const MaxPyramid& values, const CellPlaces& places);
void paintCellShapes(QPainter& painter, const MaxPyramid& values, const CellPlaces& places, const ColourTable& colours,
                     const Theme& theme);
/// Pixels of an image per device-independent pixel of a figure; large images have fewer.
double figureScale(const QSizeF& area);

}  // namespace kvlab
