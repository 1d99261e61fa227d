// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/events/tick_strip.h"

#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "widgets/base/event_tree.h"
#include "widgets/base/format.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {
constexpr int kTop = 12, kBottom = 12;  // room for the marks

void triangle(QPainter& painter, QPointF at, double size) {
  painter.drawPolygon(QPolygonF({at + QPointF(-size, -size), at + QPointF(size, -size), at + QPointF(0, size)}));
}

void diamond(QPainter& painter, QPointF at, double size) {
  painter.drawPolygon(
      QPolygonF({at + QPointF(0, -size), at + QPointF(size, 0), at + QPointF(0, size), at + QPointF(-size, 0)}));
}
/// Damage that a check had excluded after a tick came later; where no check ran in between, it came outside of ticks.
bool mayHaveCome(const DamageSince& since, Tick tick) {
  const std::optional<Tick> from = since.verified ? since.verified : since.computed;
  const Tick to = std::max(since.found, since.reached.value_or(since.found));
  if (tick > to) return false;
  return !from || tick > *from || tick == since.computed || tick == to;
}
}  // namespace

TickStrip::TickStrip(QWidget* parent) : ScrolledTicks(parent) {
  setAccessibleName(tr("Ticks"));
  setToolTip(tr("Ticks of the history; click or use the arrow keys to go there"));
}

TickStrip::Bar TickStrip::barOf(const Snapshot& snapshot) {
  Bar bar;
  bar.tick = snapshot.tick;
  if (!snapshot.report || snapshot.report->tick != snapshot.tick) return bar;
  bar.us = tickMicroseconds(*snapshot.report);
  bar.ok = snapshot.report->ok;
  bar.violations = static_cast<int>(snapshot.report->violations.size());
  for (const Action& action : snapshot.report->actions) bar.edits += !std::holds_alternative<Add>(action);
  return bar;
}

void TickStrip::show(HistoryReader::History history, Tick shown, const std::vector<Finding>& findings) {
  m_reader.follow(history, m_bars, [](const Snapshot& s, const auto&) { return barOf(s); });
  m_most = 1e-3;
  for (const Bar& bar : m_bars) m_most = std::max(m_most, bar.us);
  m_findings = findings;
  setShown(shown);
  reveal();
}

void TickStrip::setHeld(std::optional<HeldTicks> held) {
  m_held = std::move(held);
  update();
}

QString TickStrip::describe(int place) const {
  const Bar& bar = m_bars[at(place)];
  QString text = tr("tick %1: %2").arg(bar.tick.value()).arg(formatMicroseconds(bar.us));
  if (bar.edits) text += tr(", %1").arg(counted(bar.edits, tr("edit"), tr("edits")));
  if (bar.violations) text += tr(", %1").arg(counted(bar.violations, tr("violation"), tr("violations")));
  if (!bar.ok) text += tr(", failed");
  if (m_held && m_held->lookedAt(bar.tick))
    text +=
        m_held->has(bar.tick) ? tr(", %1 held").arg(m_held->condition) : tr(", %1 did not hold").arg(m_held->condition);
  QStringList damage;
  for (const Finding& one : m_findings)
    if (mayHaveCome(one.since(), bar.tick))
      damage << QString::fromStdString(one.violation.invariant + " broken " + intervalText(one.since()));
  if (!damage.isEmpty())
    text += '\n' + tr("Damage may have come in this tick: %1").arg(damage.join(QStringLiteral("; ")));
  return text;
}

bool TickStrip::mayBeDamaged(Tick tick) const {
  return std::any_of(m_findings.begin(), m_findings.end(),
                     [&](const Finding& one) { return mayHaveCome(one.since(), tick); });
}

double TickStrip::columnWidth() const {
  const double room = width() - 2 * kSide;
  return std::clamp(room / std::max<double>(1, static_cast<double>(m_bars.size())), 6.0, 18.0);
}

QRectF TickStrip::place(int i) const {
  const double share = m_bars[at(i)].us / m_most;
  const double room = height() - kTop - kBottom;
  const double tall = std::max(2.0, share * room);
  return {leftOf(i), kTop + room - tall, columnWidth() - 1, tall};
}

void TickStrip::paintEvent(QPaintEvent*) {
  const auto theme = Theme::current();
  QPainter painter(this);
  painter.fillRect(rect(), theme->surface);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme->border);
  for (int i = first(); i < end(); ++i) {
    const Bar& bar = m_bars[at(i)];
    const QRectF at = place(i);
    const bool bad = bar.violations > 0 || !bar.ok;
    if (i == shown()) painter.fillRect(QRectF(at.left(), 0, at.width(), height() - 1), theme->selection);
    if (mayBeDamaged(bar.tick)) painter.fillRect(QRectF(at.left(), 0, columnWidth(), 2), theme->error);
    painter.fillRect(at,
                     i == shown() ? theme->accent
                         : bad    ? theme->error
                                  : Theme::mix(theme->surface, theme->accent, isDim(bar.tick) ? 0.14 : 0.45));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    if (bad) {
      painter.setBrush(theme->error);
      triangle(painter, {at.center().x(), kTop / 2.0}, 3.5);
    }
    if (bar.edits) {
      painter.setBrush(theme->warning);
      diamond(painter, {at.center().x(), height() - kBottom / 2.0 - 0.5}, 3.5);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
  }
  painter.setFont(theme->small);
  painter.setPen(theme->faint);
  painter.drawText(rect().adjusted(kSide, 1, -kSide, 0), Qt::AlignRight | Qt::AlignTop,
                   tr("longest %1").arg(formatMicroseconds(m_most)));
}

void TickStrip::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_PageUp: return step(-10);
    case Qt::Key_PageDown: return step(10);
    default: TickPicker::keyPressEvent(event);
  }
}

}  // namespace kvlab
