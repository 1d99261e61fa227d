// SPDX-License-Identifier: Apache-2.0
// Conditions that stop a run: "evicted(ledger==12)", "evicted(layer==3)", "evicted(layer==3, ledger==12)",
// "replaced(ledger==3)", "invariant", "error", "kl > 0.05", "token == 17", "length >= 900", "tick == 40", "wrap",
// "wrap(layer==3)", "stage(plan)". A row is evicted where it leaves a layer, by an action or through a window. A stage
// stops inside a tick, all others behind one. Engine thread.
#pragma once
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/report.h"
#include "core/api/stage_view.h"
#include "core/state/cache_state.h"

namespace kvlab {

class Breakpoints {
 public:
  struct Test {
    std::string compare = {};  // "==", ">", ...; empty: always true
    double value = 0;
  };
  struct Condition {
    std::string text;     // as written
    std::string subject;  // "evicted", "kl", ...
    Test test = {};
    Test layer = {};  // of a subject that has to do with layers
    std::string stage = {};
  };

  static Result<Condition> parse(const std::string& text);
  Status add(const std::string& text);
  void clear() { m_conditions.clear(); }
  const std::vector<Condition>& conditions() const { return m_conditions; }
  /// True if a condition compares the KL divergence, which a drift pass after each tick measures.
  bool needsKl() const;
  /// The text of the first condition that the tick met; empty = none.
  std::string hit(const TickReport& report, const CacheState& before, const CacheState& after, double kl) const;
  /// The text of the condition that stops ticks after this stage; empty = none.
  std::string hit(Stage stage) const;
  bool anyStage() const;

 private:
  std::vector<Condition> m_conditions;
};

}  // namespace kvlab
