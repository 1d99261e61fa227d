// SPDX-License-Identifier: GPL-3.0-or-later
// Text that is dragged onto the token strip: where it would go, and the drop.
#include <QDropEvent>
#include <QMimeData>
#include <algorithm>

#include "widgets/views/strip/token_text.h"

namespace kvlab {
namespace {
bool isText(const QDropEvent& event) { return event.mimeData()->hasText() && !event.mimeData()->hasUrls(); }
}  // namespace

int TokenText::dropChip(QPoint point) const {
  const auto count = static_cast<int>(m_chips.size());
  int chip = chipAt(point);
  for (int x = point.x(); chip < 0 && x > 0; x -= 8) chip = chipAt({x, point.y()});  // right of a line: behind its end
  if (chip < 0) return count;
  return point.x() > chipRect(chip).center().x() ? chip + 1 : chip;
}

Position TokenText::dropPosition(int chip) const {
  const auto first = m_chips.begin() + std::clamp(chip, 0, static_cast<int>(m_chips.size()));
  const auto row = std::find_if(first, m_chips.end(), [](const Chip& one) { return one.position >= 0; });
  return row == m_chips.end() ? Position(m_snapshot ? m_snapshot->length() : 0) : Position(row->position);
}

void TokenText::showDrop(int chip) {
  if (chip == m_drop) return;
  m_drop = chip;
  viewport()->update();
}

QRect TokenText::dropMark() const {
  if (m_drop < 0 || m_chips.empty()) return {};
  const bool end = m_drop >= static_cast<int>(m_chips.size());
  const QRect box = chipRect(end ? static_cast<int>(m_chips.size()) - 1 : m_drop);
  return {end ? box.right() + 2 : box.left() - 3, box.top() - 2, 2, box.height() + 4};
}

/// Files belong to the window, which is asked next.
void TokenText::dragEnterEvent(QDragEnterEvent* event) {
  if (!isText(*event)) return event->ignore();
  event->setDropAction(Qt::CopyAction);
  event->accept();
}

void TokenText::dragMoveEvent(QDragMoveEvent* event) {
  showDrop(dropChip(event->position().toPoint()));
  event->setDropAction(Qt::CopyAction);
  event->accept();
}

void TokenText::dragLeaveEvent(QDragLeaveEvent*) { showDrop(-1); }

void TokenText::dropEvent(QDropEvent* event) {
  const Position before = dropPosition(dropChip(event->position().toPoint()));
  showDrop(-1);
  event->setDropAction(Qt::CopyAction);
  event->accept();
  emit textDropped(before, event->mimeData()->text());
}

}  // namespace kvlab
