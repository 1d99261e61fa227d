// SPDX-License-Identifier: Apache-2.0
// Records the steps of one tick as nested events with durations and bytes. Owned by the tick;
// engine thread.
#pragma once
#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/api/report.h"
#include "kernels/backend/op_log.h"

namespace kvlab {

class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  /// An event that ends with the object's life; scopes nest.
  class Scope {
   public:
    Scope(Trace& trace, std::string name, std::string detail) : m_trace(trace) {
      m_index = trace.m_events.size();
      trace.m_events.push_back({std::move(name), trace.m_depth++, {}, trace.now(), 0, 0, std::move(detail)});
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      Event& event = m_trace.m_events[m_index];
      event.us = m_trace.now() - event.startUs;
      --m_trace.m_depth;
    }
    void bytes(std::int64_t n) { m_trace.m_events[m_index].bytes += n; }
    void detail(std::string text) { m_trace.m_events[m_index].detail = std::move(text); }
    /// They also stand in the detail.
    void rings(RingEvent rings) {
      Event& event = m_trace.m_events[m_index];
      const auto tell = [&event](const auto& one) {
        event.detail += (event.detail.empty() ? "" : "; ") + ringText(one);
      };
      std::for_each(rings.commits.begin(), rings.commits.end(), tell);
      std::for_each(rings.reads.begin(), rings.reads.end(), tell);
      if (!rings.commits.empty() || !rings.reads.empty())
        event.rings = std::make_shared<const RingEvent>(std::move(rings));
    }

   private:
    Trace& m_trace;
    std::size_t m_index;
  };

  [[nodiscard]] Scope scope(std::string name, std::string detail = {}) {
    return Scope(*this, std::move(name), std::move(detail));
  }
  /// Adds op calls, ascending by start, as events inside the steps during which they ran. All steps must be closed.
  void addOps(std::span<const kernels::OpRecord> ops);
  std::vector<Event> take() { return std::move(m_events); }

 private:
  double now() const { return std::chrono::duration<double, std::micro>(Clock::now() - m_start).count(); }
  Clock::time_point m_start = Clock::now();
  std::vector<Event> m_events;
  int m_depth = 0;
};

}  // namespace kvlab
