// SPDX-License-Identifier: GPL-3.0-or-later
// A lamp with a word: a disc with a tick mark for "holds", a square on its corner with a cross for "broken". Shape,
// sign, word and colour have the same meaning. GUI thread.
#pragma once
#include <QPointF>

#include "widgets/base/theme.h"

class QPainter;

namespace kvlab {

void paintLamp(QPainter& painter, QPointF centre, double radius, bool good, const Theme& theme);
/// In place of a lamp: nothing is known yet, or there is nothing to do.
void paintRing(QPainter& painter, QPointF centre, const Theme& theme);

}  // namespace kvlab
