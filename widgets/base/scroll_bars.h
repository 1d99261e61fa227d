// SPDX-License-Identifier: GPL-3.0-or-later
// Qt updates the visibility of scroll bars in the event loop. A view that is rendered without being shown would keep
// unneeded bars; settleBars() updates them at once.
#pragma once
class QAbstractScrollArea;

namespace kvlab {

void settleBars(QAbstractScrollArea* area);

}  // namespace kvlab
