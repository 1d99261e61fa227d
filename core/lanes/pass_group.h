// SPDX-License-Identifier: Apache-2.0
// Runs a job in each of several sessions and makes their forward passes together (core/lanes/lockstep.h): linear steps
// read the weights once for all. That needs rows in host memory; a device orders the calls of each session separately,
// so there each session makes its own passes. Results are bitwise the same. Owned by Lanes or a Batch, which also owns
// the sessions; its thread.
#pragma once
#include "core/lanes/lockstep.h"
#include "core/session/session.h"

namespace kvlab {

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

}  // namespace kvlab
