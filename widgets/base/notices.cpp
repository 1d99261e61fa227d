// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/notices.h"

#include <QPainter>

#include "widgets/base/button_use.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {
/// "ticks 3–9"; "tick 3" for one.
QString tickRangeText(const TickRange& range) {
  if (range.first == range.last) return TickLimitNote::tr("tick %1").arg(range.first.value());
  return TickLimitNote::tr("ticks %1–%2").arg(range.first.value()).arg(range.last.value());
}
}  // namespace

EmptyNotice::EmptyNotice(QWidget* parent) : QWidget(parent) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMinimumHeight(60);
}

void EmptyNotice::say(const QString& title, const QString& how) {
  if (title == m_title && how == m_how) return;
  m_title = title;
  m_how = how;
  setAccessibleName(title);
  setAccessibleDescription(how);
  setToolTip(how);
  update();
}

void EmptyNotice::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const auto theme = Theme::current();
  painter.fillRect(rect(), theme->surface);
  const int middle = height() * 2 / 5;
  const QRect column = rect().adjusted(Theme::kHuge, 0, -Theme::kHuge, 0);
  painter.setFont(theme->strong);
  painter.setPen(theme->muted);
  painter.drawText(QRect(column.left(), 0, column.width(), middle),
                   Qt::AlignHCenter | Qt::AlignBottom | Qt::TextWordWrap, m_title);
  painter.setFont(theme->ui);
  painter.setPen(theme->faint);
  painter.drawText(QRect(column.left(), middle + Theme::kMedium, column.width(), height() - middle),
                   Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, m_how);
}

TickLimitNote::TickLimitNote(InspectorContext& context, QWidget* parent) : QToolButton(parent), m_context(context) {
  setObjectName("tickLimitNote");
  setFocusPolicy(Qt::TabFocus);
  setAccessibleName(tr("Limit of the ticks"));
  runsCommand(this, context, "all_ticks");
  connect(&context, &InspectorContext::ticksLimited, this, &TickLimitNote::follow);
  follow();
}

void TickLimitNote::follow() {
  const auto& limits = m_context.tickLimits();
  setVisible(limits.has_value());
  setText(limits ? tr("Only %1  ✕").arg(tickRangeText(*limits)) : QString());
  setToolTip(tr("All views over ticks show only these, as the time line was told; a click shows all ticks again"));
}

}  // namespace kvlab
