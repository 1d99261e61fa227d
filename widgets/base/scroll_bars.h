// SPDX-License-Identifier: GPL-3.0-or-later
// Qt shows and hides scroll bars when the event loop comes round again. A view that is rendered
// without being shown would keep bars that it does not need; settleBars makes them follow at once.
#pragma once
class QAbstractScrollArea;

namespace kvlab {

void settleBars(QAbstractScrollArea* area);

}  // namespace kvlab
