// SPDX-License-Identifier: GPL-3.0-or-later
// The order in which Tab visits the controls of a window: the order of layout, independent of creation order. GUI
// thread.
#pragma once
#include <QList>
#include <QWidget>

namespace kvlab {

/// The controls in `root` that take the keyboard now, in the order of layouts and splitters. An empty view is a stop
/// itself, so that the keyboard can reach its notice.
QList<QWidget*> tabStops(QWidget& root);

/// Moves the keyboard to the next (or previous) stop, with wrap-around; false if there is no stop.
bool moveAlong(const QList<QWidget*>& stops, bool forward);

}  // namespace kvlab
