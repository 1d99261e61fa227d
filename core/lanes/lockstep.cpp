// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lockstep.h"

#include <algorithm>
#include <system_error>
#include <thread>

#include "core/model/decoder/transformer.h"

namespace kvlab {
namespace {
double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}
}  // namespace

void Lockstep::run(const std::vector<std::function<void()>>& jobs) {
  m_seats.assign(jobs.size(), {});
  m_passes = m_meetings = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) m_seats[i].work = &jobs[i];
  if (jobs.empty()) return;
  std::vector<std::thread> threads;
  threads.reserve(jobs.size());
  // The first job runs on this thread. Jobs for which no thread can be created run afterwards, with passes of their
  // own.
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    try {
      threads.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
      break;
    }
  }
  const std::size_t started = threads.size() + 1;
  {
    const std::lock_guard lock(m_mutex);
    for (std::size_t i = started; i < jobs.size(); ++i) m_seats[i].seat = Seat::Ended;
    giveTurn(0);
  }
  work(0);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = started; i < jobs.size(); ++i) {
    {
      const std::lock_guard lock(m_mutex);
      m_seats[i].seat = Seat::Ready;
      giveTurn(i);
    }
    work(i);
  }
}

void Lockstep::work(std::size_t job) {
  {
    std::unique_lock lock(m_mutex);
    m_moved.wait(lock, [&] { return m_turn == job; });
  }
  (*m_seats[job].work)();
  const std::lock_guard lock(m_mutex);
  m_seats[job].us += microseconds(Clock::now() - m_since);
  m_seats[job].seat = Seat::Ended;
  handOver();
}

void Lockstep::pass(Transformer& transformer, const WholePass& pass) {
  std::unique_lock lock(m_mutex);
  const std::size_t job = m_turn;  // the running job is the caller
  Job& own = m_seats[job];
  own.us += microseconds(Clock::now() - m_since);
  own.part = {&transformer, &pass};
  own.seat = Seat::Waiting;
  handOver();
  m_moved.wait(lock, [&] { return m_turn == job; });
  if (own.failure) std::rethrow_exception(std::exchange(own.failure, nullptr));
}

void Lockstep::giveTurn(std::size_t job) {
  m_turn = job;
  m_since = Clock::now();
  m_moved.notify_all();
}

/// Gives the turn to the next job that is ready. If all jobs wait, makes their passes first.
void Lockstep::handOver() {
  const auto find = [&](Seat seat) {
    return static_cast<std::size_t>(
        std::find_if(m_seats.begin(), m_seats.end(), [&](const Job& one) { return one.seat == seat; }) -
        m_seats.begin());
  };
  if (find(Seat::Ready) == m_seats.size() && find(Seat::Waiting) < m_seats.size()) meet();
  const std::size_t next = find(Seat::Ready);
  giveTurn(next < m_seats.size() ? next : kNobody);
}

void Lockstep::meet() {
  std::vector<PassPart> parts;
  double rows = 0;
  for (Job& one : m_seats) {
    if (one.seat != Seat::Waiting) continue;
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
  for (Job& one : m_seats) {
    if (one.seat != Seat::Waiting) continue;
    one.us += us * static_cast<double>(one.part.pass->n) / rows;
    one.failure = failure;
    one.seat = Seat::Ready;
  }
  ++m_passes;
  m_meetings += parts.size() > 1;
}

}  // namespace kvlab
