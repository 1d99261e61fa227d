// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/panes.h"

#include <QAbstractScrollArea>
#include <QCoreApplication>
#include <QResizeEvent>
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

TurningSplitter::TurningSplitter(int wideFrom, Cut wide, Cut tall, QWidget* parent)
    : QSplitter(parent), m_wideFrom(wideFrom), m_wide(std::move(wide)), m_tall(std::move(tall)) {
  setHandleWidth(1);
  setChildrenCollapsible(false);
}

void TurningSplitter::resizeEvent(QResizeEvent* event) {
  const bool wide = event->size().width() >= m_wideFrom && event->size().height() < m_tallFrom;
  const Qt::Orientation wanted = wide ? Qt::Horizontal : Qt::Vertical;
  const bool turned = orientation() != wanted || !m_placed;
  if (turned) setOrientation(wanted);
  QSplitter::resizeEvent(event);
  const int extent = wide ? event->size().width() : event->size().height();
  if (!turned || extent <= 0) return;
  m_placed = isVisible();
  const int first = wide ? m_wide(extent) : m_tall(extent);
  setSizes({first, std::max(0, extent - first - handleWidth())});
}

}  // namespace kvlab
