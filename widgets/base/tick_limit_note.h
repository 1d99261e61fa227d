// SPDX-License-Identifier: GPL-3.0-or-later
// A button that says to which ticks views are limited; a click shows all ticks again. Hidden while there is no limit.
// Owned by its view. GUI thread.
#pragma once
#include <QToolButton>

#include "widgets/base/inspector_context.h"

namespace kvlab {

/// "ticks 3–9"; "tick 3" for one.
QString tickRangeText(const TickRange& range);

class TickLimitNote : public QToolButton {
  Q_OBJECT
 public:
  TickLimitNote(InspectorContext& context, QWidget* parent);

 private:
  void follow();

  InspectorContext& m_context;
};

}  // namespace kvlab
