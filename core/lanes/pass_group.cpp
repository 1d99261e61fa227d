// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/pass_group.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/api/guarded.h"
#include "core/model/decoder/transformer.h"

namespace kvlab {
namespace {

double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

std::optional<Error> errorOf(const PassGroup::Job& job, std::size_t session) {
  try {
    return job(session);
  } catch (...) {
    return caught("the session was not stepped");
  }
}

}  // namespace

/// Runs the ticks of several sessions so that their forward passes can be made together. Each tick has its own thread,
/// but only one of them runs at a time. A tick that reaches a pass waits there. When every other tick waits too, or has
/// ended, the passes are made together (Transformer::run of parts), and the ticks continue in turn. A tick gives the
/// same result as alone.
class Lockstep : public PassRunner {
 public:
  /// wide: has room for the rows of all passes together.
  explicit Lockstep(Transformer& wide) : m_wide(wide) {}
  ~Lockstep() override;

  /// Returns when all jobs have ended. Jobs must not throw.
  void run(const std::vector<std::function<void()>>& jobs);
  void pass(Transformer& transformer, const WholePass& pass) override;

  /// After run(): microseconds of a job's own work, plus its rows' share of the passes.
  double us(std::size_t job) const { return m_seats[job].us; }
  /// Number of passes of the last run(), and number of passes that served several jobs.
  std::int64_t passes() const { return m_passes; }
  std::int64_t meetings() const { return m_meetings; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { Ready, Waiting, Ended };
  struct Seat {
    const std::function<void()>* work = nullptr;
    State state = State::Ended;
    PassPart part = {};
    std::exception_ptr failure = {};
    double us = 0;
    std::condition_variable turn = {};
  };

  void seatAll(const std::vector<std::function<void()>>& jobs);
  void serve(std::size_t job);
  void await(std::unique_lock<std::mutex>& lock, std::size_t job);
  void work(std::unique_lock<std::mutex>& lock, std::size_t job);
  void giveTurn(std::size_t job);
  void handOver();
  void meet();

  static constexpr std::size_t kNobody = ~std::size_t{0};
  Transformer& m_wide;
  std::mutex m_mutex;  // guards the members below during run()
  std::deque<Seat> m_seats;
  std::vector<std::thread> m_threads;  // threads of seats 1, 2, ..; they stay between runs
  std::condition_variable m_ended;
  std::size_t m_turn = kNobody;
  bool m_over = false;
  Clock::time_point m_since;
  std::int64_t m_passes = 0, m_meetings = 0;
};

Lockstep::~Lockstep() {
  {
    const std::lock_guard lock(m_mutex);
    m_over = true;
    for (Seat& seat : m_seats) seat.turn.notify_one();
  }
  for (std::thread& thread : m_threads) thread.join();
}

void Lockstep::run(const std::vector<std::function<void()>>& jobs) {
  std::unique_lock lock(m_mutex);
  m_passes = m_meetings = 0;
  seatAll(jobs);
  if (jobs.empty()) return;
  // The first job runs on this thread. Jobs without a thread run afterwards, with passes of their own.
  const std::size_t seated = std::min(jobs.size(), m_threads.size() + 1);
  for (std::size_t i = seated; i < jobs.size(); ++i) m_seats[i].state = State::Ended;
  giveTurn(0);
  work(lock, 0);
  m_ended.wait(lock, [this] { return m_turn == kNobody; });
  for (std::size_t i = seated; i < jobs.size(); ++i) {
    m_seats[i].state = State::Ready;
    giveTurn(i);
    work(lock, i);
  }
}

/// A seat for each job, and threads as far as there are any.
void Lockstep::seatAll(const std::vector<std::function<void()>>& jobs) {
  while (m_seats.size() < jobs.size()) m_seats.emplace_back();
  for (std::size_t i = 0; i < m_seats.size(); ++i) {
    m_seats[i].work = i < jobs.size() ? &jobs[i] : nullptr;
    m_seats[i].state = i < jobs.size() ? State::Ready : State::Ended;
    m_seats[i].us = 0;
  }
  try {
    while (m_threads.size() + 1 < jobs.size()) m_threads.emplace_back([this, i = m_threads.size() + 1] { serve(i); });
  } catch (const std::system_error&) {  // no more threads
  }
}

void Lockstep::serve(std::size_t job) {
  std::unique_lock lock(m_mutex);
  while (true) {
    await(lock, job);
    if (m_over) return;
    work(lock, job);
  }
}

void Lockstep::await(std::unique_lock<std::mutex>& lock, std::size_t job) {
  m_seats[job].turn.wait(lock, [&] { return m_turn == job || m_over; });
}

void Lockstep::work(std::unique_lock<std::mutex>& lock, std::size_t job) {
  lock.unlock();
  (*m_seats[job].work)();
  lock.lock();
  m_seats[job].us += microseconds(Clock::now() - m_since);
  m_seats[job].state = State::Ended;
  handOver();
}

void Lockstep::pass(Transformer& transformer, const WholePass& pass) {
  std::unique_lock lock(m_mutex);
  const std::size_t job = m_turn;  // the running job is the caller
  Seat& own = m_seats[job];
  own.us += microseconds(Clock::now() - m_since);
  own.part = {&transformer, &pass};
  own.state = State::Waiting;
  handOver();
  await(lock, job);
  if (own.failure) std::rethrow_exception(std::exchange(own.failure, nullptr));
}

void Lockstep::giveTurn(std::size_t job) {
  m_turn = job;
  m_since = Clock::now();
  (job == kNobody ? m_ended : m_seats[job].turn).notify_one();
}

/// Gives the turn to the next job that is ready. If all jobs wait, makes their passes first.
void Lockstep::handOver() {
  const auto find = [&](State state) {
    return static_cast<std::size_t>(
        std::find_if(m_seats.begin(), m_seats.end(), [&](const Seat& one) { return one.state == state; }) -
        m_seats.begin());
  };
  if (find(State::Ready) == m_seats.size() && find(State::Waiting) < m_seats.size()) meet();
  const std::size_t next = find(State::Ready);
  giveTurn(next < m_seats.size() ? next : kNobody);
}

void Lockstep::meet() {
  std::vector<PassPart> parts;
  double rows = 0;
  for (Seat& one : m_seats) {
    if (one.state != State::Waiting) continue;
    parts.push_back(one.part);
    rows += static_cast<double>(one.part.pass->n);
  }
  const Clock::time_point start = Clock::now();
  std::exception_ptr failure;
  try {
    if (parts.size() == 1) parts.front().transformer->run(*parts.front().pass);
    else m_wide.run(parts);
  } catch (...) {
    failure = std::current_exception();
  }
  const double us = microseconds(Clock::now() - start);
  for (Seat& one : m_seats) {
    if (one.state != State::Waiting) continue;
    one.us += us * static_cast<double>(one.part.pass->n) / rows;
    one.failure = failure;
    one.state = State::Ready;
  }
  ++m_passes;
  m_meetings += parts.size() > 1;
}

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
  const auto start = std::chrono::steady_clock::now();
  if (m_last.apart.empty()) runTogether(sessions, job, out);
  else runApart(sessions, job, out);
  m_last.us = microseconds(std::chrono::steady_clock::now() - start);
  out.front().weightBytes += bytesOf(m_wide.get()) - wide;
  m_last.weightBytes = 0;
  for (std::size_t i = 0; i < sessions.size(); ++i)
    m_last.weightBytes += out[i].weightBytes += bytesOf(&sessions[i]->transformer());
  return out;
}

void PassGroup::runApart(const std::vector<Session*>& sessions, const Job& job, std::vector<Outcome>& out) {
  m_last.together = false;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const auto start = std::chrono::steady_clock::now();
    out[i].error = errorOf(job, i);
    out[i].us = microseconds(std::chrono::steady_clock::now() - start);
  }
}

void PassGroup::runTogether(const std::vector<Session*>& sessions, const Job& job, std::vector<Outcome>& out) {
  std::vector<std::function<void()>> jobs;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    sessions[i]->transformer().setRunner(m_lockstep.get());
    jobs.emplace_back([&job, &out, i] { out[i].error = errorOf(job, i); });
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
