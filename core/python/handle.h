// SPDX-License-Identifier: Apache-2.0
// A session, lanes or a batch for Python. Any thread may call it without the GIL; calls wait for each other. A call
// asks Python now and then whether a signal came (Ctrl+C): then the call is cancelled, and the engine is where it was
// after the last whole tick.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "core/api/guarded.h"
#include "core/experiment/sweep_moment.h"
#include "core/lanes/session_holder.h"

namespace kvlab::python {

/// Looks for signals and tells of progress. `interrupted` takes the GIL; it returns true where a Python exception is
/// set, or the work shall end for another reason.
class Interrupts {
 public:
  using Asks = std::function<bool(const std::string& what, std::int64_t done, std::int64_t total)>;

  explicit Interrupts(Asks asks) : m_asks(std::move(asks)) {}
  /// For the engine; false ends its work. Asks at most twenty times a second.
  bool goOn(const std::string& what, std::int64_t done, std::int64_t total);

 private:
  Asks m_asks;
  std::chrono::steady_clock::time_point m_last = std::chrono::steady_clock::now();
  bool m_ended = false;
};

/// While one lives, the thread is in a rule from outside that a session has asked, and can ask no session.
class InRule {
 public:
  InRule();
  ~InRule();
  InRule(const InRule&) = delete;
  InRule& operator=(const InRule&) = delete;
  static bool here() { return depth() > 0; }

 private:
  static int& depth();
};

/// The engine asks `interrupts` as long as this lives.
class Asked {
 public:
  Asked(SessionHolder& holder, Interrupts& interrupts);
  ~Asked() { m_holder.setProgress({}); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

 private:
  SessionHolder& m_holder;
};

Whereabouts whereabouts(const nlohmann::json& where);

class Handle {
 public:
  static Result<std::shared_ptr<Handle>> open(const nlohmann::json& manifest, const std::string& resources,
                                              Interrupts& interrupts);
  static Result<std::shared_ptr<Handle>> openCapture(const std::string& path, const std::string& resources,
                                                     Interrupts& interrupts);
  /// A cell of a sweep at the moment of an answer (core/experiment/sweep_moment.h).
  static Result<std::shared_ptr<Handle>> openCell(const SweepPlace& place, const std::string& resources,
                                                  Interrupts& interrupts);

  /// Errors: closed_session, and those of SessionHolder::execute().
  Result<nlohmann::json> call(const std::string& verb, const nlohmann::json& args, Interrupts& interrupts);
  Result<std::shared_ptr<Handle>> fork(Interrupts& interrupts);
  /// Frees the session; later calls are refused.
  void close();
  bool closed() const;

  /// Calls `reads` with the session that a question is about, alone. where: {"lane"} or {"sequence"} of several,
  /// {"tick", "branch"} in the past. Errors: closed_session, and those of SessionHolder::sessionOf().
  template <class T>
  Result<T> look(const nlohmann::json& where, Interrupts& interrupts, const std::function<Result<T>(Session&)>& reads);

 private:
  explicit Handle(std::unique_ptr<SessionHolder> holder) : m_holder(std::move(holder)) {}
  /// Waits for the calls of other threads. Errors: closed_session; bad_policy inside a rule from outside.
  Result<std::unique_lock<std::mutex>> enter() const;

  mutable std::mutex m_mutex;
  std::unique_ptr<SessionHolder> m_holder;
};

template <class T>
Result<T> Handle::look(const nlohmann::json& where, Interrupts& interrupts,
                       const std::function<Result<T>(Session&)>& reads) {
  const auto lock = KV_TRY(enter());
  const Asked asked(*m_holder, interrupts);
  return guarded("the call was refused", [&]() -> Result<T> {
    Session* session = KV_TRY(m_holder->sessionOf(whereabouts(where)));
    return reads(*session);
  });
}

}  // namespace kvlab::python
