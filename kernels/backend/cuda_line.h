// SPDX-License-Identifier: Apache-2.0
// One line of calls on a CUDA device: a stream, the first failure, the events that order the line against another line,
// pinned memory for its copies, and the log of its op calls. A back end owns the line; the back end's rules for threads
// hold.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/backend/backend.h"
#include "kernels/cuda/runtime/find_module.h"

namespace kvlab::kernels {

inline constexpr int32_t kCudaOutOfMemory = 2;  // cudaErrorMemoryAllocation

/// Shared by the ops of one back end: Context::device.
struct CudaLine {
  const CudaCalls device;
  Arena& arena;
  void* stream = nullptr;
  void* fast = nullptr;  ///< with "cuda-fast"
  std::optional<BackendFailure> failure = {};
  void* beside = nullptr;  ///< stream whose calls are not yet ordered before the calls here
  void* mark = nullptr;    ///< event that brings streams in order

  /// Notes an error; true if there was none, now or before.
  bool check(int32_t error, const char* doing) {
    if (failure) return false;
    if (error == 0) return true;
    failure = BackendFailure{error == kCudaOutOfMemory, cudaErrorSaid(doing, error, device.api().errorText(error)),
                             cudaErrorStays(error)};
    return false;
  }

  /// Orders later calls on the stream `later` after all calls made on `first`.
  void order(void* first, void* later) {
    if (!mark) check(device(&CudaApi::makeEvent, &mark), "streams were not brought in order");
    if (!failure) check(device(&CudaApi::recordEvent, first, mark), "streams were not brought in order");
    if (!failure) check(device(&CudaApi::waitFor, later, mark), "streams were not brought in order");
  }

  void settle() {
    if (beside) order(std::exchange(beside, nullptr), stream);
  }
};

/// Page-locked host memory for copies. The ring hands memory out front to back and begins anew when the device has
/// caught up. The owner waits and frees.
class PinnedRing {
 public:
  PinnedRing() = default;
  PinnedRing(std::byte* memory, int64_t bytes) : m_memory(memory), m_bytes(bytes) {}

  std::byte* memory() const { return m_memory; }
  bool fits(int64_t bytes) const { return m_used + bytes <= m_bytes; }
  /// Memory from a border of 64, if it fits.
  std::byte* take(int64_t bytes) {
    std::byte* taken = m_memory + m_used;
    m_used += (bytes + 63) / 64 * 64;
    return taken;
  }
  void reset() { m_used = 0; }

 private:
  std::byte* m_memory = nullptr;
  int64_t m_bytes = 0, m_used = 0;
};

/// A log of op calls whose times the device takes: it writes time stamps between ops; a stamp taken while idle relates
/// them to the host's clock.
class CudaEventLog : public OpLog {
 public:
  explicit CudaEventLog(CudaLine& line) : m_line(line) {}
  ~CudaEventLog() override {
    for (void* event : m_events) m_line.device(&CudaApi::releaseEvent, event);
  }

 protected:
  void stamp() override {
    if (m_used == 0) takeBase();
    record();
  }

  void resolve(std::vector<OpRecord>& records) override {
    m_line.check(m_line.device(&CudaApi::synchronise, m_line.stream), "the device stopped");
    for (size_t i = 0; i < records.size() && 2 * i + 2 < m_used; ++i) {
      const double begin = sinceBase(2 * i + 1);
      records[i].start = m_base + std::chrono::nanoseconds(static_cast<int64_t>(begin * 1000));
      records[i].us = sinceBase(2 * i + 2) - begin;
    }
    m_used = 0;
  }

 private:
  /// The device stamps the base at some time between the two looks at the host's clock.
  void takeBase() {
    m_line.check(m_line.device(&CudaApi::synchronise, m_line.stream), "the device stopped");
    const auto before = std::chrono::steady_clock::now();
    record();
    m_line.check(m_line.device(&CudaApi::synchronise, m_line.stream), "the device stopped");
    m_base = before + (std::chrono::steady_clock::now() - before) / 2;
  }
  void record() {
    void* event = nullptr;
    if (m_used == m_events.size() && m_line.check(m_line.device(&CudaApi::makeEvent, &event), "no time stamp was made"))
      m_events.push_back(event);
    if (m_used < m_events.size())
      m_line.check(m_line.device(&CudaApi::recordEvent, m_line.stream, m_events[m_used++]), "a time stamp was not set");
  }
  double sinceBase(size_t event) {
    float milliseconds = 0;
    m_line.check(m_line.device(&CudaApi::eventTime, m_events[0], m_events[event], &milliseconds),
                 "a time stamp was not read");
    return 1000.0 * milliseconds;
  }

  CudaLine& m_line;
  std::vector<void*> m_events;
  size_t m_used = 0;
  std::chrono::steady_clock::time_point m_base;
};

}  // namespace kvlab::kernels
