// SPDX-License-Identifier: Apache-2.0
// Conditions that stop a run, in the language of core/watch/expression.h: "evicted(ledger==12)", "kl > 0.05",
// "rows(layer==3) > 700 and not wrap". A condition with stage(..) stops inside a tick, all others behind one. Engine
// thread.
#pragma once
#include <string>
#include <vector>

#include "core/watch/expression.h"

namespace kvlab {

class Breakpoints {
 public:
  struct Point {
    Expression condition;
    std::int64_t ignore = 0;  // so many times it does not stop yet
    bool once = false;        // it is forgotten when it has stopped a run
  };

  void add(Point point) { m_points.push_back(std::move(point)); }
  void clear() { m_points.clear(); }
  const std::vector<Point>& points() const { return m_points; }
  bool needs(Need need) const;
  /// The text of the first condition that holds and stops; empty = none. Inside a tick only conditions with stage(..)
  /// are asked, behind it only the others.
  std::string hit(const Sight& at);

 private:
  std::vector<Point> m_points;
};

}  // namespace kvlab
