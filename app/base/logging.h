// SPDX-License-Identifier: GPL-3.0-or-later
// Writes log lines to standard error and to a listener (the Log view). Includes Qt's own messages. Set up once by main.
#pragma once
#include <QObject>
#include <QString>
#include <memory>

namespace kvlab {

/// Passes log lines of every thread to the GUI thread. Levels as in spdlog: 0 trace .. 4 error.
class LogRelay : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

 signals:
  void line(int level, const QString& text);
};

/// Makes the default logger write to standard error from `level` on ("warning", ...) and to the relay from info on. The
/// relay must outlive all logging.
void installLogging(const std::string& level, LogRelay& relay);
/// Restores a logger without the relay.
void removeLogging();

}  // namespace kvlab
