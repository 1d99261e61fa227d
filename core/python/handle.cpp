// SPDX-License-Identifier: Apache-2.0
#include "core/python/handle.h"

#include "core/verbs/capture_session.h"
#include "core/verbs/verbs.h"

namespace kvlab::python {
namespace {

constexpr std::chrono::milliseconds kPause{50};

Progress progressOf(Interrupts& interrupts) {
  return [&interrupts](const std::string& what, std::int64_t done, std::int64_t total) {
    return interrupts.goOn(what, done, total);
  };
}

/// The engine asks `interrupts` as long as this lives.
class Asked {
 public:
  Asked(SessionHolder& holder, Interrupts& interrupts) : m_holder(holder) {
    m_holder.setProgress(progressOf(interrupts));
  }
  ~Asked() { m_holder.setProgress({}); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

 private:
  SessionHolder& m_holder;
};

}  // namespace

bool Interrupts::goOn(const std::string& what, std::int64_t done, std::int64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (m_ended || now - m_last < kPause) return !m_ended;
  m_last = now;
  m_ended = m_asks(what, done, total);
  return !m_ended;
}

Result<std::shared_ptr<Handle>> Handle::open(const nlohmann::json& manifest, const std::string& resources,
                                             Interrupts& interrupts) {
  const Manifest parsed = KV_TRY(Manifest::fromJson(manifest));
  std::unique_ptr<Session> session = KV_TRY(openSession(parsed, resources, progressOf(interrupts)));
  return std::shared_ptr<Handle>(new Handle(std::make_unique<SessionHolder>(std::move(session))));
}

Result<std::shared_ptr<Handle>> Handle::openCapture(const std::string& path, const std::string& resources,
                                                    Interrupts& interrupts) {
  Replay replay = KV_TRY(replayCapture(path, resources, {}, progressOf(interrupts)));
  if (!replay.ok() && !replay.steps.empty() && replay.steps.back().error) return *replay.steps.back().error;
  return std::shared_ptr<Handle>(new Handle(std::make_unique<SessionHolder>(std::move(replay.session))));
}

Status Handle::open() const {
  if (m_holder) return ok();
  return Error("closed_session", "the session was not asked", "it was closed", "open another one");
}

Result<nlohmann::json> Handle::call(const std::string& verb, const nlohmann::json& args, Interrupts& interrupts) {
  const std::lock_guard lock(m_mutex);
  KV_TRY(open());
  const Asked asked(*m_holder, interrupts);
  return m_holder->execute(verb, args);
}

Result<std::shared_ptr<Handle>> Handle::fork(Interrupts& interrupts) {
  const std::lock_guard lock(m_mutex);
  KV_TRY(open());
  const Asked asked(*m_holder, interrupts);
  std::unique_ptr<SessionHolder> made = KV_TRY(m_holder->fork());
  return std::shared_ptr<Handle>(new Handle(std::move(made)));
}

void Handle::close() {
  const std::lock_guard lock(m_mutex);
  m_holder.reset();
}

bool Handle::closed() const {
  const std::lock_guard lock(m_mutex);
  return !m_holder;
}

}  // namespace kvlab::python
