// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/application.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <QDir>
#include <QFile>
#include <QLibraryInfo>
#include <QMetaMethod>
#include <QRegularExpression>
#include <algorithm>
#include <cstddef>

#include "core/api/guarded.h"
#include "core/api/part_file.h"

namespace kvlab {

namespace {

Error noWindow(const std::string& why, const std::string& remedy) {
  return {"usage", "no window can be opened", why, remedy};
}

/// True if somebody listens at a socket. Names that begin with a zero byte lie outside the file system.
bool answers(const QByteArray& socketName) {
  sockaddr_un address{};
  if (socketName.isEmpty() || socketName.size() >= static_cast<int>(sizeof address.sun_path)) return false;
  address.sun_family = AF_UNIX;
  std::copy(socketName.begin(), socketName.end(), address.sun_path);
  const int handle = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return false;
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + static_cast<std::size_t>(socketName.size()));
  const bool connected = connect(handle, reinterpret_cast<const sockaddr*>(&address), size) == 0;
  close(handle);
  return connected;
}

/// ":1" and "unix:1.0" name sockets of this machine; other machines are not asked.
Status findX11(const QByteArray& display) {
  static const QRegularExpression kLocal(QStringLiteral("^(unix)?:(\\d+)(\\.\\d+)?$"));
  const auto local = kLocal.match(QString::fromLocal8Bit(display));
  const QByteArray path = "/tmp/.X11-unix/X" + local.captured(2).toLocal8Bit();
  if (!local.hasMatch() || answers(path) || answers(QByteArray(1, '\0') + path)) return ok();
  return noWindow("no X server answers at DISPLAY=" + display.toStdString(),
                  "start one or name another, or use kvlab run SCRIPT.js");
}

Status findWayland(const QByteArray& display) {
  const QDir plugins(QLibraryInfo::path(QLibraryInfo::PluginsPath) + "/platforms", "*wayland*");
  const QByteArray path = display.startsWith('/') ? display : qgetenv("XDG_RUNTIME_DIR") + '/' + display;
  if (!answers(path))
    return noWindow(
        "no Wayland compositor answers at WAYLAND_DISPLAY=" + display.toStdString() + " (" + path.toStdString() + ")",
        "correct WAYLAND_DISPLAY and XDG_RUNTIME_DIR, or use kvlab run SCRIPT.js");
  if (!plugins.isEmpty()) return ok();
  return noWindow("Qt has no plugin for Wayland, and DISPLAY is not set",
                  "install qt6-wayland, or set DISPLAY to an X server");
}

bool isChosen() { return !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"); }

}  // namespace

Status findDisplay() {
  if (isChosen()) return ok();
  const QByteArray x11 = qgetenv("DISPLAY"), wayland = qgetenv("WAYLAND_DISPLAY");
  if (x11.isEmpty() && wayland.isEmpty())
    return noWindow("neither DISPLAY nor WAYLAND_DISPLAY is set", "set one, or use kvlab run SCRIPT.js");
  if (x11.isEmpty()) return findWayland(wayland);
  const Status found = findX11(x11);
  return found || (!wayland.isEmpty() && findWayland(wayland)) ? ok() : found;
}

bool isWatched() {
  const QByteArray platform = qgetenv("QT_QPA_PLATFORM");
  const bool named =
      isChosen() || !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY");
  return named && !platform.startsWith("offscreen") && !platform.startsWith("minimal");
}

void useOffscreen() {
  if (!qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) return;
  const QString path = QDir::tempPath() + QString("/kvlab-screen-%1.json").arg(getuid());
  const QByteArray screen = R"({"screens":[{"name":"main","x":0,"y":0,"width":1920,"height":1200,)"
                            R"("logicalDpi":96,"logicalBaseDpi":96,"dpr":1}]})";
  QFile file(path);
  const bool there = file.open(QIODevice::ReadOnly) && file.readAll() == screen;
  if (!there) (void)writeWhole(path.toStdString(), screen.toStdString());
  qputenv("QT_QPA_PLATFORM", ("offscreen:configfile=" + path).toLocal8Bit());
  qunsetenv("QT_SCALE_FACTOR");
  qputenv("QT_FONT_DPI", "96");
}

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
