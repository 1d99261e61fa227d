// SPDX-License-Identifier: Apache-2.0
#include "core/python/handle.h"

#include "core/api/read_json.h"
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

}  // namespace

Asked::Asked(SessionHolder& holder, Interrupts& interrupts) : m_holder(holder) {
  m_holder.setProgress(progressOf(interrupts));
}

Whereabouts whereabouts(const nlohmann::json& where) {
  Whereabouts out;
  for (const char* one : {"lane", "sequence"})
    if (where.contains(one)) out.member = memberOr(where, one, -1);
  if (where.contains("tick")) out.tick = Tick(memberOr(where, "tick", std::int64_t{-1}));
  out.branch = memberOr(where, "branch", std::string());
  return out;
}

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

Result<std::shared_ptr<Handle>> Handle::openCell(const SweepPlace& place, const std::string& resources,
                                                 Interrupts& interrupts) {
  SweepMoment moment = KV_TRY(openSweepCell(place, resources, progressOf(interrupts)));
  return std::shared_ptr<Handle>(new Handle(std::make_unique<SessionHolder>(std::move(moment.session))));
}

InRule::InRule() { ++depth(); }
InRule::~InRule() { --depth(); }
int& InRule::depth() {
  thread_local int count = 0;
  return count;
}

Result<std::unique_lock<std::mutex>> Handle::enter() const {
  if (InRule::here())
    return Error("bad_policy", "the session was not asked", "a rule asks, and the session waits for the rule",
                 "use what the rule is given");
  std::unique_lock lock(m_mutex);
  if (!m_holder) return Error("closed_session", "the session was not asked", "it was closed", "open another one");
  return lock;
}

Result<nlohmann::json> Handle::call(const std::string& verb, const nlohmann::json& args, Interrupts& interrupts) {
  const auto lock = KV_TRY(enter());
  const Asked asked(*m_holder, interrupts);
  return m_holder->execute(verb, args);
}

Result<std::shared_ptr<Handle>> Handle::fork(Interrupts& interrupts) {
  const auto lock = KV_TRY(enter());
  const Asked asked(*m_holder, interrupts);
  std::unique_ptr<SessionHolder> made = KV_TRY(m_holder->fork());
  return std::shared_ptr<Handle>(new Handle(std::move(made)));
}

void Handle::close() {
  const auto lock = enter();
  if (lock) m_holder.reset();
}

bool Handle::closed() const {
  const auto lock = enter();
  return !lock && lock.error().code == "closed_session";
}

}  // namespace kvlab::python
