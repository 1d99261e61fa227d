// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/tick_limit_note.h"

#include "widgets/base/button_use.h"

namespace kvlab {

QString tickRangeText(const TickRange& range) {
  if (range.first == range.last) return TickLimitNote::tr("tick %1").arg(range.first.value());
  return TickLimitNote::tr("ticks %1–%2").arg(range.first.value()).arg(range.last.value());
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
