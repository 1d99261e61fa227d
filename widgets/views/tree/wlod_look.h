// SPDX-License-Identifier: GPL-3.0-or-later
// Colours and patterns for parts of the wLOD tree, shared by the icicle and the bars beside it. Each part has both, so
// that colour is never the only sign. GUI thread.
#pragma once
#include <QPainter>

#include "core/api/wlod_view.h"
#include "widgets/base/theme.h"

namespace kvlab {

QColor whyColour(DirtyWhy why, const Theme& theme);
QColor levelColour(int level, const Theme& theme);
/// Paints a box or a run of boxes: temporal is dotted, hierarchical striped, both are crossed.
void paintWhy(QPainter& painter, const QRectF& box, DirtyWhy why, const Theme& theme);
/// Paints a padlock of width `size` with its bottom at `foot`.
void paintLock(QPainter& painter, QPointF foot, double size, const QColor& colour);
/// Hatching of the protected tail.
QBrush protectedBrush(const Theme& theme);

}  // namespace kvlab
