// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lockstep.h"

#include <algorithm>
#include <system_error>

#include "core/model/decoder/transformer.h"

namespace kvlab {
namespace {

std::size_t threadsOf(const Transformer& transformer) {
  const kernels::ThreadPool* pool = transformer.backend().context().pool;
  return pool ? static_cast<std::size_t>(pool->threads()) : 1;
}

}  // namespace

Lockstep::Lockstep(Transformer& wide) : m_wide(wide), m_pool(threadsOf(wide)) {}

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
  m_width = 2 * seated < m_pool ? kInTurn : std::min(seated, m_pool);
  for (std::size_t i = seated; i < jobs.size(); ++i) m_seats[i].state = State::Ended;
  goOn();
  await(lock, m_seats[0]);
  work(lock, m_seats[0]);
  m_ended.wait(lock, [this] { return count(State::Ended) == m_seats.size(); });
  m_width = kInTurn;
  for (std::size_t i = seated; i < jobs.size(); ++i) {
    m_seats[i].state = State::Ready;
    goOn();
    await(lock, m_seats[i]);
    work(lock, m_seats[i]);
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
    while (m_threads.size() + 1 < jobs.size())
      m_threads.emplace_back([this, &seat = m_seats[m_threads.size() + 1]] { serve(seat); });
  } catch (const std::system_error&) {  // no more threads
  }
}

void Lockstep::serve(Seat& seat) {
  std::unique_lock lock(m_mutex);
  while (true) {
    await(lock, seat);
    if (m_over) return;
    work(lock, seat);
  }
}

void Lockstep::await(std::unique_lock<std::mutex>& lock, Seat& seat) {
  seat.turn.wait(lock, [&] { return seat.state == State::Running || m_over; });
  seat.thread = std::this_thread::get_id();
  seat.since = Stopwatch();
  if (m_width > kInTurn) seat.lone.enter();
}

void Lockstep::work(std::unique_lock<std::mutex>& lock, Seat& seat) {
  lock.unlock();
  (*seat.work)();
  lock.lock();
  stop(seat, State::Ended);
}

void Lockstep::pass(Transformer& transformer, const WholePass& pass) {
  std::unique_lock lock(m_mutex);
  Seat& own = caller();
  own.part = {&transformer, &pass};
  stop(own, State::Waiting);
  await(lock, own);
  if (own.failure) std::rethrow_exception(std::exchange(own.failure, nullptr));
}

double Lockstep::usSoFar() {
  const std::lock_guard lock(m_mutex);
  const Seat& own = caller();
  return own.us + own.since.us();
}

/// The calling job ends its work, or waits for a pass; others go on.
void Lockstep::stop(Seat& seat, State state) {
  seat.us += seat.since.us();
  seat.state = state;
  seat.lone.leave();
  goOn();
}

Lockstep::Seat& Lockstep::caller() {
  return *std::find_if(m_seats.begin(), m_seats.end(), [](const Seat& one) {
    return one.state == State::Running && one.thread == std::this_thread::get_id();
  });
}

std::size_t Lockstep::count(State state) const {
  return static_cast<std::size_t>(
      std::count_if(m_seats.begin(), m_seats.end(), [&](const Seat& one) { return one.state == state; }));
}

/// Lets as many jobs run as there is room for. If all that have not ended wait, makes their passes first.
void Lockstep::goOn() {
  std::size_t running = count(State::Running);
  if (running == 0 && count(State::Ready) == 0 && count(State::Waiting) > 0) meet();
  for (Seat& seat : m_seats) {
    if (running == m_width) break;
    if (seat.state != State::Ready) continue;
    seat.state = State::Running;
    seat.turn.notify_one();
    ++running;
  }
  if (running == 0) m_ended.notify_one();
}

void Lockstep::meet() {
  std::vector<PassPart> parts;
  double rows = 0;
  for (Seat& one : m_seats) {
    if (one.state != State::Waiting) continue;
    parts.push_back(one.part);
    rows += static_cast<double>(one.part.pass->n);
  }
  const bool together = parts.size() > 1 && rows <= m_wide.maxRows();
  const Stopwatch watch;
  std::exception_ptr failure;
  try {
    if (together) m_wide.run(parts);
    else
      for (const PassPart& part : parts) part.transformer->run(*part.pass);
  } catch (...) {
    failure = std::current_exception();
  }
  const double us = watch.us();
  for (Seat& one : m_seats) {
    if (one.state != State::Waiting) continue;
    one.us += us * static_cast<double>(one.part.pass->n) / rows;
    one.failure = failure;
    one.state = State::Ready;
  }
  ++m_passes;
  m_meetings += together;
}

}  // namespace kvlab
