// SPDX-License-Identifier: Apache-2.0
// Conditions that stop a run, in the language of core/watch/expression.h: "evicted(ledger==12)", "kl > 0.05",
// "rows(layer==3) > 700 and not wrap". A condition with stage(..) stops inside a tick, all others behind one. Engine
// thread.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/api/aside_views.h"
#include "core/watch/expression.h"

namespace kvlab {

class Breakpoints {
 public:
  struct Point {
    Expression condition;
    BreakpointView view;
  };

  /// The number of the new breakpoint.
  int add(Expression condition, BreakpointView wish);
  /// Replaces the view of the breakpoint with the same number, except its condition. False if there is none.
  bool change(const BreakpointView& wish);
  bool remove(int id);
  void clear();
  /// Takes these in place of all that there are, with their numbers.
  void restore(std::vector<Point> points);
  /// The session begins a new history: nothing has held in it yet.
  void startOver();
  const BreakpointView* find(int id) const;
  const std::vector<Point>& points() const { return m_points; }
  /// Views of all breakpoints in their order; null = none. Shared until something changes.
  std::shared_ptr<const std::vector<BreakpointView>> views() const;

  /// True if an enabled breakpoint could hold.
  bool any() const;
  /// True if an enabled one needs this.
  bool needs(Need need) const;
  /// The text of the first condition that holds and stops; empty = none. Inside a tick only conditions with stage(..)
  /// are asked, behind it only the others.
  std::string hit(const Sight& at);

 private:
  bool stopsAt(Point& point, const Sight& at);

  std::vector<Point> m_points;
  int m_next = 1;
  mutable std::shared_ptr<const std::vector<BreakpointView>> m_views;  // null = outdated, or no breakpoint
};

}  // namespace kvlab
