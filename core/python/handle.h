// SPDX-License-Identifier: Apache-2.0
// A session, lanes or a batch for Python. Any thread may call it without the GIL; calls wait for each other. A call
// asks Python now and then whether a signal came (Ctrl+C): then the call is cancelled, and the engine is where it was
// after the last whole tick.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

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

class Handle {
 public:
  static Result<std::shared_ptr<Handle>> open(const nlohmann::json& manifest, const std::string& resources,
                                              Interrupts& interrupts);
  static Result<std::shared_ptr<Handle>> openCapture(const std::string& path, const std::string& resources,
                                                     Interrupts& interrupts);

  /// Errors: closed_session, and those of SessionHolder::execute().
  Result<nlohmann::json> call(const std::string& verb, const nlohmann::json& args, Interrupts& interrupts);
  Result<std::shared_ptr<Handle>> fork(Interrupts& interrupts);
  /// Frees the session; later calls are refused.
  void close();
  bool closed() const;

  /// Calls `reads` with the session, alone. Errors: closed_session, in_lockstep.
  template <class T>
  Result<T> look(const std::function<Result<T>(Session&)>& reads);

 private:
  explicit Handle(std::unique_ptr<SessionHolder> holder) : m_holder(std::move(holder)) {}
  Status open() const;

  mutable std::mutex m_mutex;
  std::unique_ptr<SessionHolder> m_holder;
};

template <class T>
Result<T> Handle::look(const std::function<Result<T>(Session&)>& reads) {
  const std::lock_guard lock(m_mutex);
  KV_TRY(open());
  if (Session* session = m_holder->session()) return reads(*session);
  return Error("in_lockstep", "the rows were not read", "the sessions run together",
               "ask one of them, or close the lanes");
}

}  // namespace kvlab::python
