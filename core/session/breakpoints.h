// SPDX-License-Identifier: Apache-2.0
// Conditions that stop a run: "evicted(ledger==12)", "evicted(layer==3)", "evicted(layer==3, ledger==12)",
// "replaced(ledger==3)", "deleted(ledger==3)", "changed(ledger==3)", "stale(ledger==3)", "read(ledger==3)",
// "invariant", "error", "kl > 0.05", "token == 17", "length >= 900", "tick == 40", "wrap", "wrap(layer==3)",
// "stage(plan)". A row is evicted where it leaves a layer, by an action or through a window; changed where its token is
// replaced or deleted; stale from the tick on from which a rebuild might compute it differently; read where the tick's
// newest query gives it more than an equal share of its attention in the last layer. A stage stops inside a tick, all
// others behind one. Engine thread.
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
  bool needsKl() const { return needs("kl"); }
  /// True if a condition is about rows that become stale.
  bool needsStale() const { return needs("stale"); }
  /// What only conditions that need it have measured.
  struct Seen {
    double kl = 0;
    std::vector<bool> staleBefore = {}, staleAfter = {};  // [ledger]
  };
  /// The text of the first condition that the tick met; empty = none.
  std::string hit(const TickReport& report, const CacheState& before, const CacheState& after, const Seen& seen) const;
  /// The text of the condition that stops ticks after this stage; empty = none.
  std::string hit(Stage stage) const;
  bool anyStage() const;

 private:
  bool needs(const char* subject) const;

  std::vector<Condition> m_conditions;
};

}  // namespace kvlab
