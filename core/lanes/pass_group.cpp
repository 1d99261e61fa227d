// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/pass_group.h"

#include "core/api/guarded.h"
#include "core/api/stopwatch.h"
#include "core/lanes/lockstep.h"
#include "core/model/decoder/transformer.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

/// A breakpoint inside a tick stops nobody here: the others would wait for the session.
std::optional<Error> errorOf(const PassGroup::Job& job, Session& session, std::size_t place) {
  try {
    if (std::optional<Error> error = job(place)) return error;
    if (!session.stage()) return std::nullopt;
    const Result<nlohmann::json> rest = execute(session, "finishTick", {});
    return rest ? std::nullopt : std::optional(rest.error());
  } catch (...) {
    return caught("the session was not stepped");
  }
}

}  // namespace

PassGroup::PassGroup() = default;
PassGroup::~PassGroup() = default;

void PassGroup::open(const std::vector<Session*>& all, bool wanted) {
  close();
  m_wanted = wanted;
  const Transformer& first = all.front()->transformer();
  if (!wanted || all.size() < 2 || !first.backend().onHost()) return;
  int rows = 0;
  for (const Session* session : all) rows += session->manifest().prefillChunk;
  const Status opened = guarded("the passes were not made together", [&]() -> Status {
    m_wide = KV_TRY(first.widened(rows));
    m_lockstep = std::make_unique<Lockstep>(*m_wide);
    return ok();
  });
  if (!opened) close();  // each session makes its own
}

void PassGroup::close() {
  m_lockstep.reset();
  m_wide.reset();
}

std::string PassGroup::whyApart(const std::vector<Session*>& sessions) const {
  if (!m_wanted) return "each session was asked to make its own pass";
  if (sessions.size() < 2) return "one session takes part";
  const kernels::Backend& backend = sessions.front()->transformer().backend();
  if (!backend.onHost())
    return std::string("back end ") + backend.id() + " orders the calls of each session for itself";
  return m_wide ? "" : "there is no memory for a pass of all sessions";
}

std::vector<PassGroup::Outcome> PassGroup::run(const std::vector<Session*>& sessions, const Job& job,
                                               std::string apart) {
  std::vector<Outcome> out(sessions.size());
  if (sessions.empty()) return out;
  const auto bytesOf = [](const Transformer* one) { return one ? one->weightBytes() : 0; };
  const std::int64_t wide = bytesOf(m_wide.get());
  for (std::size_t i = 0; i < sessions.size(); ++i) out[i].weightBytes = -bytesOf(&sessions[i]->transformer());
  m_last.apart = apart.empty() ? whyApart(sessions) : std::move(apart);
  const Stopwatch watch;
  if (m_last.apart.empty()) runTogether(sessions, job, out);
  else runApart(sessions, job, out);
  m_last.us = watch.us();
  out.front().weightBytes += bytesOf(m_wide.get()) - wide;
  m_last.weightBytes = 0;
  for (std::size_t i = 0; i < sessions.size(); ++i)
    m_last.weightBytes += out[i].weightBytes += bytesOf(&sessions[i]->transformer());
  return out;
}

void PassGroup::runApart(const std::vector<Session*>& sessions, const Job& job, std::vector<Outcome>& out) {
  m_last.together = false;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const Stopwatch watch;
    out[i].error = errorOf(job, *sessions[i], i);
    out[i].us = watch.us();
  }
}

void PassGroup::runTogether(const std::vector<Session*>& sessions, const Job& job, std::vector<Outcome>& out) {
  std::vector<std::function<void()>> jobs;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    sessions[i]->transformer().setRunner(m_lockstep.get());
    jobs.emplace_back([&job, &out, &sessions, i] { out[i].error = errorOf(job, *sessions[i], i); });
  }
  m_lockstep->run(jobs);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    sessions[i]->transformer().setRunner(nullptr);
    out[i].us = m_lockstep->us(i);
  }
  m_last.together = m_lockstep->meetings() > 0;
  if (!m_last.together)
    m_last.apart = m_lockstep->passes() ? "no two sessions came to a pass at a time" : "nothing was computed";
}

void SessionGroup::silence(Session& session) {
  session.setPublish({});
  session.setProgress({});
  session.setBetweenTicks({});
}

std::optional<Error> SessionGroup::failureOf(const Result<nlohmann::json>& result) {
  if (!result) return result.error();
  const nlohmann::json& last = result->is_array() && !result->empty() ? result->back() : *result;
  if (!last.is_object() || last.value("ok", true)) return std::nullopt;
  return Error::fromJson(last.value("error", nlohmann::json::object()));
}

Error SessionGroup::in(const char* one, int number, Error error) {
  error.what = std::string(one) + " " + std::to_string(number) + ": " + error.what;
  return error;
}

}  // namespace kvlab
