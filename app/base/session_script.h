// SPDX-License-Identifier: GPL-3.0-or-later
// The calls of a session as a script that repeats them: the opening, then every call that changed the session,
// whoever made it. Written from the engine's replies, so that a stopped run has the ticks that it made. Owned by its
// LiveSession. GUI thread; functions: any thread.
#pragma once
#include <QString>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/api/error.h"
#include "core/api/snapshot.h"
#include "core/api/verb.h"

namespace kvlab {

/// The arguments with which a stopped call repeats its effect; null if it had none.
nlohmann::json argsDone(const std::string& verb, const nlohmann::json& args, const nlohmann::json& reply,
                        const Snapshot* after);

class SessionScript {
 public:
  /// Without verbs nothing is recorded.
  SessionScript() = default;
  /// request: what WindowPort::openSession() was given.
  SessionScript(std::vector<VerbInfo> verbs, const nlohmann::json& request);
  void answered(const std::string& verb, const nlohmann::json& args, const Result<nlohmann::json>& reply,
                const SnapshotPtr& newest);
  /// The session is a fork of the one that the script was copied from.
  void forked() { add("s = s.fork();"); }
  QString text() const { return textOf(m_lines.size()); }
  /// The lines up to the call that wrote a note. For a note that no call wrote: the opening, which brought it.
  QString textTo(int note) const;
  bool wrote(int note) const { return m_notes.contains(note); }
  /// Calls that the script has, the opening included.
  std::int64_t calls() const;
  /// A call of the session's verb.
  QString line(const std::string& verb, const nlohmann::json& args) const;

 private:
  struct Line {
    QString text;
    std::int64_t times = 1;
  };
  void add(const QString& line);
  /// The first lines.
  QString textOf(std::size_t lines) const;
  QString refusedLine(const std::string& verb, const nlohmann::json& args, const Error& error,
                      const SnapshotPtr& newest) const;

  std::vector<VerbInfo> m_verbs;
  std::vector<Line> m_lines;
  std::map<int, std::size_t> m_notes;  // lines up to the call that wrote a note
  SnapshotPtr m_before;                // snapshot of the last reply
};

}  // namespace kvlab
