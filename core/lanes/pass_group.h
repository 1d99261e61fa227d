// SPDX-License-Identifier: Apache-2.0
// Runs a job in each of several sessions and makes their forward passes together: linear steps read the weights once
// for all. That needs rows in host memory; a device orders the calls of each session separately, so there each session
// makes its own passes. Results are bitwise the same. Owned by Lanes or a Batch, which also owns the sessions; its
// thread. Both are a SessionGroup.
#pragma once
#include "core/session/session.h"

namespace kvlab {

class Lockstep;

/// A report on the passes of the last run.
struct PassReport {
  bool together = false;         // a pass served several sessions
  std::string apart;             // else: why not
  std::int64_t weightBytes = 0;  // bytes of weights read by all sessions
  double us = 0;                 // microseconds of all sessions
};

class PassGroup {
 public:
  using Job = std::function<std::optional<Error>(std::size_t session)>;
  struct Outcome {
    std::optional<Error> error = {};  // error that the job returned or threw
    double us = 0;
    std::int64_t weightBytes = 0;  // bytes of weights read; a pass made together counts for the first session
  };

  PassGroup();
  ~PassGroup();
  /// Makes room for the longest passes of all these sessions together, on the back end of the first, which must outlive
  /// the next open() or close(). wanted: false = each session makes its own passes.
  void open(const std::vector<Session*>& all, bool wanted);
  void close();
  bool wanted() const { return m_wanted; }
  const PassReport& last() const { return m_last; }
  void setLast(PassReport last) { m_last = std::move(last); }

  /// Outcomes in the order of the sessions. apart: why the passes are not made together, or empty.
  std::vector<Outcome> run(const std::vector<Session*>& sessions, const Job& job, std::string apart = {});

 private:
  std::string whyApart(const std::vector<Session*>& sessions) const;
  void runApart(const std::vector<Session*>& sessions, const Job& job, std::vector<Outcome>& out);
  void runTogether(const std::vector<Session*>& sessions, const Job& job, std::vector<Outcome>& out);

  bool m_wanted = true;
  std::unique_ptr<Transformer> m_wide;  // null: each session makes its own passes
  std::unique_ptr<Lockstep> m_lockstep;
  PassReport m_last;
};

/// Receivers of what lanes or a batch do. The group tells them for all of its sessions, which are consistent with each
/// other only after all have done a tick.
class SessionGroup {
 public:
  /// Called with the shown session's snapshot after each call that may have changed it.
  void setPublish(std::function<void(SnapshotPtr)> publish) { m_publish = std::move(publish); }
  /// Progress of steps and prompts of all sessions; also asked once per tick whether to cancel.
  void setProgress(Progress progress) { m_progress = std::move(progress); }
  const Progress& progress() const { return m_progress; }
  /// Called between two ticks of a long verb, when all sessions are consistent and readers may query them.
  void setBetweenTicks(std::function<void()> between) { m_betweenTicks = std::move(between); }
  void betweenTicks() const {
    if (m_betweenTicks) m_betweenTicks();
  }

 protected:
  /// The session tells nobody any more.
  static void silence(Session& session);
  /// The error of a failed tick: the verb's own error, or a report that is not ok.
  static std::optional<Error> failureOf(const Result<nlohmann::json>& result);
  /// The error of one session: `one` and its number stand before what was refused.
  static Error in(const char* one, int number, Error error);

  std::function<void(SnapshotPtr)> m_publish;

 private:
  Progress m_progress;
  std::function<void()> m_betweenTicks;
};

}  // namespace kvlab
