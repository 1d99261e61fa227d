// SPDX-License-Identifier: Apache-2.0
#include "core/edit/trace.h"

#include <algorithm>
#include <limits>

namespace kvlab {
namespace {
constexpr int kOpDepth = 3;  // depth below steps, actions and operations; bytes of ops are counted apart
}  // namespace

void Trace::addOps(std::span<const kernels::OpRecord> ops) {
  std::vector<Event> merged;
  std::size_t next = 0;
  std::vector<std::pair<double, int>> open;  // end and depth of the open steps
  const auto close = [&](double now) {
    while (!open.empty() && open.back().first < now) open.pop_back();
  };
  const auto addUpTo = [&](double end) {
    for (; next < ops.size(); ++next) {
      const kernels::OpRecord& op = ops[next];
      const double start = std::chrono::duration<double, std::micro>(op.start - m_start).count();
      if (start >= end) return;
      close(start);
      const int depth = std::max(kOpDepth, open.empty() ? 0 : open.back().second + 1);
      Event event{op.name, depth, {}, std::max(0.0, start), op.us, op.bytes, {}};
      if (op.layer >= 0) event.layer = Layer(op.layer);
      merged.push_back(std::move(event));
    }
  };
  for (Event& step : m_events) {
    addUpTo(step.startUs);
    close(step.startUs);
    open.emplace_back(step.startUs + step.us, step.depth);
    merged.push_back(std::move(step));
  }
  addUpTo(std::numeric_limits<double>::infinity());
  m_events = std::move(merged);
}

}  // namespace kvlab
