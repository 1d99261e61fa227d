// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/engine/recovery_store.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include "app/plain/read_file.h"
#include "core/api/part_file.h"
#include "core/api/read_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::unique_ptr<QLockFile> lockOf(const QString& path) {
  auto lock = std::make_unique<QLockFile>(path);
  lock->setStaleLockTime(0);  // a lock is stale when its process is gone, however old it is
  return lock;
}

/// Something was done since the session was opened. One question too many loses nothing.
bool hasWork(const json& about, const RecoveryFacts& facts) {
  if (memberOr(about, "worked", false)) return true;
  if (const json& tick = member(about, "tick"); tick.is_number_integer() && tick != facts.tick) return true;
  return facts.commands > 1;  // the first command may be the text that the session began with
}

}  // namespace

QString recoveryFolder() {
  const QString home = qEnvironmentVariable("XDG_STATE_HOME");
  return (QDir::isAbsolutePath(home) ? home : QDir::homePath() + "/.local/state") + "/kvlab/recovery";
}

Status RecoveryStore::begin() {
  const QString name = QStringLiteral("%1-%2-%3")
                           .arg(QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss")))
                           .arg(QCoreApplication::applicationPid())
                           .arg(++m_count);
  auto lock = lockOf(file(name, "lock"));
  const bool made = QDir().mkpath(m_folder);
  if (made) QFile::setPermissions(m_folder, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  if (!made || !lock->tryLock())
    return Error("io", "the session will not come back after a crash", m_folder.toStdString() + " cannot be written",
                 "set XDG_STATE_HOME to a folder that can");
  settled();
  m_nameBefore = std::exchange(m_name, name);
  m_lockBefore = std::exchange(m_lock, std::move(lock));
  return ok();
}

void RecoveryStore::adopt(LeftSession left) {
  settled();
  m_nameBefore = std::exchange(m_name, left.name);
  m_lockBefore = std::exchange(m_lock, std::move(left.lock));
}

void RecoveryStore::settled() {
  if (m_lockBefore) remove(m_nameBefore, std::move(m_lockBefore));
}

void RecoveryStore::note(const json& about) {
  if (!m_lock) return;
  const std::string path = QFile::encodeName(file(m_name, "json")).toStdString();
  m_writer.start([path, text = about.dump(-1, ' ', false, json::error_handler_t::replace)] {
    (void)writeWhole(path, text);  // the engine says that the folder takes nothing
  });
}

void RecoveryStore::end() {
  settled();
  if (m_lock) remove(m_name, std::move(m_lock));
}

/// The lock goes last: until then no window takes the remaining files.
void RecoveryStore::remove(const QString& name, std::unique_ptr<QLockFile> lock) {
  m_writer.waitForDone();
  for (const char* suffix : {"kvcap", "json"}) QFile::remove(file(name, suffix));
  lock->unlock();
}

std::optional<LeftSession> RecoveryStore::read(const QString& name) const {
  LeftSession out;
  out.name = name;
  out.when = QFileInfo(file(name, "kvcap")).lastModified();
  out.lock = lockOf(file(name, "lock"));
  if (!out.lock->tryLock()) return std::nullopt;
  if (const Result<std::string> text = readBounded(file(name, "json").toStdString(), {}))
    out.about = json::parse(*text, nullptr, false);
  if (!out.about.is_object()) out.about = json::object();
  if (Result<RecoveryFacts> facts = recoveryFacts(file(name, "kvcap").toStdString())) out.facts = facts.take();
  return out;
}

/// Names that have at least one recovery file.
QStringList RecoveryStore::names() const {
  QStringList out;
  for (const QString& one : QDir(m_folder).entryList({"*.kvcap", "*.json", "*.lock"}, QDir::Files, QDir::Name))
    if (const QString name = one.section('.', 0, 0); !name.endsWith("-lost")) out << name;
  out.removeDuplicates();
  return out;
}

std::optional<LeftSession> RecoveryStore::left() {
  if (!on()) return std::nullopt;
  std::optional<LeftSession> newest;
  for (const QString& name : names()) {
    std::optional<LeftSession> found = read(name);
    if (!found) continue;
    if (!hasWork(found->about, found->facts)) discard(std::move(*found));
    else if (!newest || newest->when < found->when) newest = std::move(found);
  }
  return newest;
}

void RecoveryStore::discard(LeftSession left) { remove(left.name, std::move(left.lock)); }

}  // namespace kvlab
