// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/platform.h"

#include <unistd.h>
#include <QDir>
#include <QFile>

namespace kvlab {

bool hasDisplay() {
  return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
      !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

bool isWatched() {
  const QByteArray platform = qgetenv("QT_QPA_PLATFORM");
  return hasDisplay() && !platform.startsWith("offscreen") && !platform.startsWith("minimal");
}

void useOffscreen() {
  if (!qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) return;
  const QString path = QDir::tempPath() + QString("/kvlab-screen-%1.json").arg(getuid());
  const QByteArray screen = R"({"screens":[{"name":"main","x":0,"y":0,"width":1920,"height":1200,)"
                            R"("logicalDpi":96,"logicalBaseDpi":96,"dpr":1}]})";
  QFile file(path);
  const bool there = file.open(QIODevice::ReadOnly) && file.readAll() == screen;
  file.close();
  if (!there && file.open(QIODevice::WriteOnly | QIODevice::Truncate)) file.write(screen);
  file.close();
  qputenv("QT_QPA_PLATFORM", ("offscreen:configfile=" + path).toLocal8Bit());
  qunsetenv("QT_SCALE_FACTOR");
  qputenv("QT_FONT_DPI", "96");
}

}  // namespace kvlab
