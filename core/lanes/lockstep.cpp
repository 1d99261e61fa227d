// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lockstep.h"

#include <algorithm>
#include <system_error>

#include "core/model/decoder/transformer.h"

namespace kvlab {
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
  m_seats[job].us += m_since.us();
  m_seats[job].state = State::Ended;
  handOver();
}

void Lockstep::pass(Transformer& transformer, const WholePass& pass) {
  std::unique_lock lock(m_mutex);
  const std::size_t job = m_turn;  // the running job is the caller
  Seat& own = m_seats[job];
  own.us += m_since.us();
  own.part = {&transformer, &pass};
  own.state = State::Waiting;
  handOver();
  await(lock, job);
  if (own.failure) std::rethrow_exception(std::exchange(own.failure, nullptr));
}

double Lockstep::usSoFar() {
  const std::lock_guard lock(m_mutex);
  return m_seats[m_turn].us + m_since.us();  // the running job is the caller
}

void Lockstep::giveTurn(std::size_t job) {
  m_turn = job;
  m_since = Stopwatch();
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
