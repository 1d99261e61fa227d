// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/scroll_bars.h"

#include <QAbstractScrollArea>
#include <QCoreApplication>
#include <QScrollBar>
#include <memory>

namespace kvlab {

void settleBars(QAbstractScrollArea* area) {
  auto busy = std::make_shared<bool>(false);
  const auto follow = [area, busy] {
    if (std::exchange(*busy, true)) return;
    QEvent layout(QEvent::LayoutRequest);
    QCoreApplication::sendEvent(area, &layout);
    *busy = false;
  };
  QObject::connect(area->verticalScrollBar(), &QScrollBar::rangeChanged, area, follow);
  QObject::connect(area->horizontalScrollBar(), &QScrollBar::rangeChanged, area, follow);
}

}  // namespace kvlab
