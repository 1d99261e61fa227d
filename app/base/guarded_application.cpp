// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/guarded_application.h"

#include <QMetaMethod>

#include "core/api/guarded.h"

namespace kvlab {

bool GuardedApplication::notify(QObject* receiver, QEvent* event) {
  const Result<bool> handled = guarded("the window stopped what it was doing",
                                       [&]() -> Result<bool> { return QApplication::notify(receiver, event); });
  if (handled) return *handled;
  static const QMetaMethod kCaught = QMetaMethod::fromSignal(&GuardedApplication::caught);
  if (isSignalConnected(kCaught)) emit caught(handled.error());
  else qCritical("%s", handled.error().text().c_str());
  return true;
}

}  // namespace kvlab
