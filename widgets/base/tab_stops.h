// SPDX-License-Identifier: GPL-3.0-or-later
// The order in which Tab visits the controls of a window: as they are laid out, whatever order they
// were made in. GUI thread.
#pragma once
#include <QList>
#include <QWidget>

namespace kvlab {

/// The controls in `root` that take the keyboard now, in the order of its layouts and splitters. A view
/// without any (it is empty) is a stop itself, so that it can be reached and says what it would show.
QList<QWidget*> tabStops(QWidget& root);

/// Gives the keyboard to the stop after (or before) the one that has it, round the ends; false if there
/// is none to go to.
bool moveAlong(const QList<QWidget*>& stops, bool forward);

}  // namespace kvlab
