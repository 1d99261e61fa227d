// SPDX-License-Identifier: GPL-3.0-or-later
// The application object. An exception that leaves the handling of an event (a click, a paint, a reply that was queued)
// becomes an error here, and the program goes on. GUI thread.
#pragma once
#include <QApplication>

#include "core/api/error.h"

namespace kvlab {

class GuardedApplication : public QApplication {
  Q_OBJECT
 public:
  using QApplication::QApplication;
  bool notify(QObject* receiver, QEvent* event) override;

 signals:
  void caught(const kvlab::Error& error);
};

}  // namespace kvlab
