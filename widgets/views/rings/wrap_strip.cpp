// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/rings/wrap_strip.h"

#include <QKeyEvent>
#include <QPainter>
#include <algorithm>

#include "widgets/base/theme.h"

namespace kvlab {
namespace {
constexpr int kLabels = 46, kSide = Theme::kMedium, kTop = 12, kBottom = 4;
constexpr double kWidest = 14;
}  // namespace

WrapStrip::WrapStrip(QWidget* parent) : TickPicker(parent) {
  setAccessibleName(tr("Filled slots over ticks"));
  setToolTip(
      tr("Slots upwards, ticks to the right; click or arrow keys go to a tick, Page Up and Page Down to the previous "
         "and next wrap"));
}

QSize WrapStrip::sizeHint() const { return {240, 76}; }

void WrapStrip::show(HistoryReader::History history, CacheLayer layer, Tick shown) {
  if (std::exchange(m_layer, layer) != layer) m_reader = {};
  const auto l = at(std::max(0, layer.value()));
  m_reader.follow(history, m_points, [l](const Snapshot& s, const std::vector<Point>& before) {
    Point point{s.tick, {}, false};
    if (l < s.storage.size() && s.storage[l]) point.ring = s.storage[l]->ring;
    const bool ringBefore = !before.empty() && before.back().ring;
    point.wrapped = ringBefore && point.ring && point.ring->wraps > before.back().ring->wraps;
    return point;
  });
  setShown(shown);
}

QString WrapStrip::describe(int place) const {
  const Point& point = m_points[at(place)];
  if (!point.ring) return tr("tick %1: no ring").arg(point.tick.value());
  QString text = tr("tick %1: pointer %2, head %3, %4 of %5 rows")
                     .arg(point.tick.value())
                     .arg(point.ring->pointer())
                     .arg(point.ring->head)
                     .arg(point.ring->filled)
                     .arg(point.ring->window);
  return point.wrapped ? text + tr(", passed slot 0") : text;
}

QRectF WrapStrip::plot() const {
  return {static_cast<double>(kLabels), static_cast<double>(kTop),
          std::max(1.0, static_cast<double>(width() - kLabels - kSide)),
          std::max(1.0, static_cast<double>(height() - kTop - kBottom - 1))};
}

double WrapStrip::columnWidth() const {
  return std::min(kWidest, plot().width() / std::max<double>(1, static_cast<double>(m_points.size())));
}

void WrapStrip::paintEvent(QPaintEvent*) {
  const auto theme = Theme::current();
  QPainter painter(this);
  painter.fillRect(rect(), theme->surface);
  painter.fillRect(QRect(0, 0, width(), 1), theme->border);
  const QRectF area = plot();
  const double wide = columnWidth();
  painter.fillRect(QRectF(area.left(), area.top(), wide * static_cast<double>(m_points.size()), area.height()),
                   theme->sunken);
  const QColor rows = Theme::mix(theme->surface, theme->accent, theme->dark ? 0.55 : 0.5);
  int capacity = 0;
  for (std::size_t i = 0; i < m_points.size(); ++i) {
    const Point& point = m_points[i];
    if (!point.ring || point.ring->capacity <= 0) continue;
    const RingState& r = *point.ring;
    capacity = r.capacity;
    const double left = area.left() + static_cast<double>(i) * wide, slot = area.height() / r.capacity;
    const QColor colour = static_cast<int>(i) == shown() ? theme->accent : rows;
    const auto band = [&](int begin, int count) {
      if (count > 0)
        painter.fillRect(QRectF(left, area.bottom() - (begin + count) * slot, std::max(1.0, wide - (wide > 4 ? 1 : 0)),
                                count * slot),
                         colour);
    };
    for (const RingRun& run : r.runs()) band(run.begin, run.count);
    if (!point.wrapped) continue;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme->warning);
    const QPointF tip(left + wide / 2, kTop - 2);
    painter.drawPolygon(QPolygonF({tip + QPointF(-3.5, -6), tip + QPointF(3.5, -6), tip}));
    painter.setRenderHint(QPainter::Antialiasing, false);
  }
  if (shown() >= 0) {
    painter.setPen(QPen(theme->focus, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(
        QRectF(std::floor(area.left() + shown() * wide) - 0.5, area.top() - 0.5, std::max(2.0, wide), area.height()));
  }
  painter.setFont(theme->monoSmall);
  painter.setPen(theme->faint);
  const QRectF names(0, area.top() - 3, kLabels - 6, area.height() + 6);
  if (capacity) painter.drawText(names, Qt::AlignRight | Qt::AlignTop, QString::number(capacity - 1));
  if (capacity) painter.drawText(names, Qt::AlignRight | Qt::AlignBottom, QStringLiteral("0"));
  painter.setFont(theme->small);
  painter.drawText(names, Qt::AlignRight | Qt::AlignVCenter, tr("slot"));
}

int WrapStrip::placeAt(const QPointF& point) const {
  const int i = static_cast<int>(std::floor((point.x() - plot().left()) / columnWidth()));
  return i >= count() ? -1 : std::max(-1, i);
}

std::optional<Tick> WrapStrip::wrapBeside(bool after) const {
  const int by = after ? 1 : -1, all = static_cast<int>(m_points.size());
  for (int i = (shown() < 0 ? all - 1 : shown()) + by; i >= 0 && i < all; i += by)
    if (m_points[at(i)].wrapped) return m_points[at(i)].tick;
  return {};
}

void WrapStrip::keyPressEvent(QKeyEvent* event) {
  const bool after = event->key() == Qt::Key_PageDown;
  switch (event->key()) {
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
      if (const auto tick = wrapBeside(after)) emit picked(*tick);
      return;
    default: TickPicker::keyPressEvent(event);
  }
}

}  // namespace kvlab
