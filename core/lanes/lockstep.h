// SPDX-License-Identifier: Apache-2.0
// Runs the work of several sessions so that their forward passes can be made together. Each job has its own thread, but
// only one of them runs at a time. A job that reaches a pass waits there. When every other job waits too, or has ended,
// the passes are made together (Transformer::run of parts), and the jobs continue in turn. A session gives the same
// result as alone. Any thread; one run() at a time.
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/api/stopwatch.h"
#include "core/model/decoder/whole_pass.h"

namespace kvlab {

class Lockstep : public PassRunner {
 public:
  /// wide: has room for the rows of the passes that are made together; where the waiting ones have more, each is made
  /// alone.
  explicit Lockstep(Transformer& wide) : m_wide(wide) {}
  ~Lockstep() override;

  /// Returns when all jobs have ended. Jobs must not throw.
  void run(const std::vector<std::function<void()>>& jobs);
  void pass(Transformer& transformer, const WholePass& pass) override;

  /// After run(): microseconds of a job's own work, plus its rows' share of the passes.
  double us(std::size_t job) const { return m_seats[job].us; }
  /// The same of the calling job, during run().
  double usSoFar();
  /// Number of passes of the last run(), and number of passes that served several jobs.
  std::int64_t passes() const { return m_passes; }
  std::int64_t meetings() const { return m_meetings; }

 private:
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
  Stopwatch m_since;
  std::int64_t m_passes = 0, m_meetings = 0;
};

}  // namespace kvlab
