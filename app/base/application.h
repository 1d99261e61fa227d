// SPDX-License-Identifier: GPL-3.0-or-later
// The application object, and Qt's platform, which main chooses once before the object exists. An exception that leaves
// the handling of an event (a click, a paint, a reply that was queued) becomes an error here, and the program goes on.
// GUI thread.
#pragma once
#include <QApplication>

#include "core/api/error.h"

namespace kvlab {

/// Shows whether a window can be shown: a display is named and answers, and Qt has the plugin for it. Qt would abort.
Status findDisplay();
/// True if somebody can see a window that is opened.
bool isWatched();
/// Uses the offscreen platform with one screen of 1920 x 1200 at 96 dpi, so that pictures are equal on every machine.
/// For runs without a display and non-interactive work. Keeps a platform set by QT_QPA_PLATFORM.
void useOffscreen();

class GuardedApplication : public QApplication {
  Q_OBJECT
 public:
  using QApplication::QApplication;
  bool notify(QObject* receiver, QEvent* event) override;

 signals:
  void caught(const kvlab::Error& error);
};

}  // namespace kvlab
