// SPDX-License-Identifier: Apache-2.0
// Runs the work of several sessions so that their forward passes can be made together. Each job has its own thread. A
// job that reaches a pass waits there. When every other job waits too, or has ended, the passes are made together
// (Transformer::run of parts), and the jobs continue. Beside the passes, as many jobs run at a time as the back end has
// threads, each on its own thread alone; where jobs are few beside the threads, they run in turn, each on all of them.
// A session gives the same result as alone. Any thread; one run() at a time.
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
#include "kernels/thread_pool.h"

namespace kvlab {

class Lockstep : public PassRunner {
 public:
  /// wide: has room for the rows of the passes that are made together; where the waiting ones have more, each is made
  /// alone.
  explicit Lockstep(Transformer& wide);
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
  enum class State : std::uint8_t { Ready, Running, Waiting, Ended };
  struct Seat {
    const std::function<void()>* work = nullptr;
    State state = State::Ended;
    std::thread::id thread = {};  // that runs the work
    PassPart part = {};
    std::exception_ptr failure = {};
    double us = 0;
    Stopwatch since = {};
    kernels::LoneThread lone = {};
    std::condition_variable turn = {};
  };
  static constexpr std::size_t kInTurn = 1;

  void seatAll(const std::vector<std::function<void()>>& jobs);
  void serve(Seat& seat);
  void await(std::unique_lock<std::mutex>& lock, Seat& seat);
  void work(std::unique_lock<std::mutex>& lock, Seat& seat);
  void stop(Seat& seat, State state);
  Seat& caller();
  std::size_t count(State state) const;
  void goOn();
  void meet();

  Transformer& m_wide;
  const std::size_t m_pool;  // threads of the back end
  std::mutex m_mutex;        // guards the members below during run()
  std::deque<Seat> m_seats;
  std::vector<std::thread> m_threads;  // threads of seats 1, 2, ..; they stay between runs
  std::condition_variable m_ended;
  std::size_t m_width = kInTurn;  // jobs that run at a time
  bool m_over = false;
  std::int64_t m_passes = 0, m_meetings = 0;
};

}  // namespace kvlab
