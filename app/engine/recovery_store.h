// SPDX-License-Identifier: GPL-3.0-or-later
// Recovery after a crash, a kill or a power cut: files in a folder of the person's own. A running window has
// NAME.kvcap, the capture that its engine keeps, NAME.json, the data that captures do not hold, and NAME.lock, which it
// holds as long as it lives. A window that ends in order removes all three; files whose lock nobody holds were left by
// a window that did not. Owned by a window; GUI thread.
#pragma once
#include <QDateTime>
#include <QLockFile>
#include <QString>
#include <QThreadPool>
#include <memory>
#include <optional>

#include "app/plain/core_replay.h"

namespace kvlab {

/// A session that a window has left, held so that no other window takes it.
struct LeftSession {
  QString name;          // name of its files
  nlohmann::json about;  // as it was written; an object
  RecoveryFacts facts;
  QDateTime when;
  std::unique_ptr<QLockFile> lock;
};

/// XDG_STATE_HOME/kvlab/recovery; without the variable below ~/.local/state.
QString recoveryFolder();

class RecoveryStore {
 public:
  /// Without a folder it keeps nothing.
  explicit RecoveryStore(QString folder) : m_folder(std::move(folder)) { m_writer.setMaxThreadCount(1); }
  /// The window ends in order.
  ~RecoveryStore() { end(); }
  bool on() const { return !m_folder.isEmpty(); }

  /// Takes a name for another session; the files of the one before stay until settled(). Error (code io): the folder
  /// cannot be used.
  Status begin();
  /// Goes on with the files of a session that was left.
  void adopt(LeftSession left);
  /// The capture of the session now; empty = there is none.
  QString capture() const { return m_lock ? file(m_name, "kvcap") : QString(); }
  QString captureOf(const LeftSession& left) const { return file(left.name, "kvcap"); }
  /// The files of the session before go.
  void settled();
  /// Writes the data that captures do not hold, beside the GUI thread. If the folder refuses the file, the note is
  /// missing after a crash.
  void note(const nlohmann::json& about);
  /// Removes the files of this window.
  void end();

  /// The newest session with work that a window has left. Files without work go.
  std::optional<LeftSession> left();
  void discard(LeftSession left);

 private:
  QString file(const QString& name, const char* suffix) const {
    return QStringLiteral("%1/%2.%3").arg(m_folder, name, QLatin1String(suffix));
  }
  QStringList names() const;
  std::optional<LeftSession> read(const QString& name) const;
  void remove(const QString& name, std::unique_ptr<QLockFile> lock);

  const QString m_folder;
  QString m_name, m_nameBefore;
  std::unique_ptr<QLockFile> m_lock, m_lockBefore;
  int m_count = 0;
  QThreadPool m_writer;
};

}  // namespace kvlab
