// SPDX-License-Identifier: Apache-2.0
// A log of op calls whose times the device takes.
#pragma once

#include <vector>

#include "kernels/backend/cuda_line.h"
#include "kernels/backend/op_log.h"

namespace kvlab::kernels {

/// The device writes time stamps between ops; a stamp taken while idle relates them to the host's clock.
class CudaEventLog : public OpLog {
 public:
  explicit CudaEventLog(CudaLine& line) : m_line(line) {}
  ~CudaEventLog() override {
    for (void* event : m_events) m_line.api.releaseEvent(event);
  }

 protected:
  void stamp() override {
    if (m_used == 0) takeBase();
    record();
  }

  void resolve(std::vector<OpRecord>& records) override {
    m_line.check(m_line.api.synchronise(m_line.stream), "the device stopped");
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
    m_line.check(m_line.api.synchronise(m_line.stream), "the device stopped");
    const auto before = std::chrono::steady_clock::now();
    record();
    m_line.check(m_line.api.synchronise(m_line.stream), "the device stopped");
    m_base = before + (std::chrono::steady_clock::now() - before) / 2;
  }
  void record() {
    void* event = nullptr;
    if (m_used == m_events.size() && m_line.check(m_line.api.makeEvent(&event), "no time stamp was made"))
      m_events.push_back(event);
    if (m_used < m_events.size())
      m_line.check(m_line.api.recordEvent(m_line.stream, m_events[m_used++]), "a time stamp was not set");
  }
  double sinceBase(size_t event) {
    float milliseconds = 0;
    m_line.check(m_line.api.eventTime(m_events[0], m_events[event], &milliseconds), "a time stamp was not read");
    return 1000.0 * milliseconds;
  }

  CudaLine& m_line;
  std::vector<void*> m_events;
  size_t m_used = 0;
  std::chrono::steady_clock::time_point m_base;
};

}  // namespace kvlab::kernels
