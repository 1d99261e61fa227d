// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/sweep_source.h"

namespace kvlab {

SweepSource& SweepSource::of(QObject& context) {
  auto* found = context.findChild<SweepSource*>({}, Qt::FindDirectChildrenOnly);
  return found ? *found : *new SweepSource(&context);
}

void SweepSource::setSweep(SweepShownPtr sweep) {
  m_sweep = std::move(sweep);
  emit changed();
}

}  // namespace kvlab
