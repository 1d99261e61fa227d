// SPDX-License-Identifier: GPL-3.0-or-later
// How the parts of the wLOD tree look, in the icicle as in the bars beside it: a colour and a pattern for each, so
// that colour is never alone. GUI thread.
#pragma once
#include <QPainter>

#include "core/api/wlod_view.h"
#include "widgets/base/theme.h"
#include "widgets/views/tree/wlod_facts.h"

namespace kvlab {

QColor whyColour(DirtyWhy why, const Theme& theme);
QColor levelColour(int level, const Theme& theme);
/// A box or a stretch of boxes: temporal is dotted, hierarchical striped, both are crossed.
void paintWhy(QPainter& painter, const QRectF& box, DirtyWhy why, const Theme& theme);
void paintShare(QPainter& painter, const QRectF& box, FactShare::Of of, const Theme& theme);
/// A padlock as wide as `size`, over its foot.
void paintLock(QPainter& painter, QPointF foot, double size, const QColor& colour);
/// Hatching of what may not be collapsed.
QBrush protectedBrush(const Theme& theme);

}  // namespace kvlab
