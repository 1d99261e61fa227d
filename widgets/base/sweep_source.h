// SPDX-License-Identifier: GPL-3.0-or-later
// The sweep shown by the window: a file, or a running sweep. Independent of sessions. A child of the context, made on
// first request. GUI thread.
#pragma once
#include <QObject>

#include "core/api/sweep_table.h"

namespace kvlab {

class SweepSource : public QObject {
  Q_OBJECT
 public:
  static SweepSource& of(QObject& context) {
    auto* found = context.findChild<SweepSource*>({}, Qt::FindDirectChildrenOnly);
    return found ? *found : *new SweepSource(&context);
  }

  const SweepShownPtr& sweep() const { return m_sweep; }  // null = none
  void setSweep(SweepShownPtr sweep) {
    m_sweep = std::move(sweep);
    emit changed();
  }

 signals:
  void changed();

 private:
  using QObject::QObject;
  SweepShownPtr m_sweep;
};

}  // namespace kvlab
