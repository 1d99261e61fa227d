// SPDX-License-Identifier: GPL-3.0-or-later
// The sweep that the window shows, a file or one that runs; it belongs to no session. A child of the context, made by
// whoever asks first. GUI thread.
#pragma once
#include <QObject>

#include "core/api/sweep_run.h"

namespace kvlab {

class SweepSource : public QObject {
  Q_OBJECT
 public:
  static SweepSource& of(QObject& context);

  const SweepShownPtr& sweep() const { return m_sweep; }  // null = none
  void setSweep(SweepShownPtr sweep);

 signals:
  void changed();

 private:
  using QObject::QObject;
  SweepShownPtr m_sweep;
};

}  // namespace kvlab
