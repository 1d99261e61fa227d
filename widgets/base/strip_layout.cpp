// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/strip_layout.h"

#include <QWidget>
#include <algorithm>

namespace kvlab {

StripLayout::StripLayout(int lineHeight, QWidget* parent) : QLayout(parent), m_lineHeight(lineHeight) {
  setContentsMargins(0, 0, 0, 0);
}

StripLayout::~StripLayout() {
  for (const Cell& cell : m_cells) delete cell.item;
}

void StripLayout::addWidget(QWidget* widget, int stretch) {
  addChildWidget(widget);
  m_cells.push_back({new QWidgetItem(widget), stretch});
  invalidate();
}

void StripLayout::addStretch(int stretch) {
  m_cells.push_back({new QSpacerItem(0, 0, QSizePolicy::Expanding, QSizePolicy::Minimum), stretch});
  invalidate();
}

QLayoutItem* StripLayout::itemAt(int index) const {
  return index >= 0 && index < count() ? m_cells[static_cast<std::size_t>(index)].item : nullptr;
}

QLayoutItem* StripLayout::takeAt(int index) {
  QLayoutItem* item = itemAt(index);
  if (item) m_cells.erase(m_cells.begin() + index);
  return item;
}

int StripLayout::wanted(const Cell& cell) {
  return cell.stretch > 0 ? cell.item->minimumSize().width() : cell.item->sizeHint().width();
}

std::vector<StripLayout::Line> StripLayout::lines(int width) const {
  std::vector<Line> found(1);
  int used = 0;
  for (const Cell& cell : m_cells) {
    if (cell.item->isEmpty() && !cell.item->spacerItem()) continue;
    const int least = wanted(cell), gap = found.back().empty() ? 0 : spacing();
    if (used + gap + least > width && !found.back().empty()) {
      found.emplace_back();
      used = least;
    } else {
      used += gap + least;
    }
    found.back().push_back(&cell);
  }
  return found;
}

int StripLayout::heightOf(const Line& line) const {
  int tall = m_lineHeight;
  for (const Cell* cell : line)
    if (m_lineHeight == 0) tall = std::max(tall, cell->item->sizeHint().height());
  return tall;
}

int StripLayout::heightOf(const std::vector<Line>& all) const {
  int tall = m_lineHeight == 0 ? spacing() * static_cast<int>(all.size() - 1) : 0;
  for (const Line& line : all) tall += heightOf(line);
  return tall;
}

int StripLayout::heightForWidth(int width) const {
  const QMargins around = contentsMargins();
  return heightOf(lines(width - around.left() - around.right())) + around.top() + around.bottom();
}

QSize StripLayout::sizeHint() const {
  const QMargins around = contentsMargins();
  int width = around.left() + around.right() - spacing();
  for (const Cell& cell : m_cells)
    if (!cell.item->isEmpty()) width += cell.item->sizeHint().width() + spacing();
  return {std::max(0, width), heightForWidth(width)};
}

QSize StripLayout::minimumSize() const {
  const QMargins around = contentsMargins();
  int width = 0, tall = m_lineHeight;
  for (const Cell& cell : m_cells) {
    if (cell.item->isEmpty()) continue;
    width = std::max(width, cell.item->minimumSize().width());
    if (m_lineHeight == 0) tall = std::max(tall, cell.item->minimumSize().height());
  }
  return {width + around.left() + around.right(), tall + around.top() + around.bottom()};
}

/// Divides the remaining width among items with a stretch; width beyond an item's maximum goes to the others.
void StripLayout::place(const Line& line, QRect area) const {
  std::vector<int> widths;
  int left = area.width() - spacing() * std::max(0, static_cast<int>(line.size()) - 1), shares = 0;
  for (const Cell* cell : line) {
    widths.push_back(std::min(wanted(*cell), area.width()));
    left -= widths.back();
    shares += cell->stretch;
  }
  for (const bool spacers : {false, true})
    for (std::size_t i = 0; i < line.size() && left > 0; ++i) {
      if (line[i]->stretch == 0 || (line[i]->item->spacerItem() != nullptr) != spacers) continue;
      const int share = std::min(left * line[i]->stretch / shares, line[i]->item->maximumSize().width() - widths[i]);
      widths[i] += std::max(0, share);
      left -= std::max(0, share);
      shares -= line[i]->stretch;
    }
  int x = area.left();
  for (std::size_t i = 0; i < line.size(); ++i) {
    line[i]->item->setGeometry(QRect(x, area.top(), widths[i], area.height()));
    x += widths[i] + spacing();
  }
}

void StripLayout::setGeometry(const QRect& area) {
  QLayout::setGeometry(area);
  const QRect inner = area.marginsRemoved(contentsMargins());
  int y = inner.top();
  for (const Line& line : lines(inner.width())) {
    const int tall = heightOf(line);
    place(line, QRect(inner.left(), y, inner.width(), tall));
    y += tall + (m_lineHeight == 0 ? spacing() : 0);
  }
}

}  // namespace kvlab
