// SPDX-License-Identifier: Apache-2.0
// Conditions of all sorts for tests of breakpoints and of running back.
#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/session/observe.h"
#include "support/session_fixture.h"

namespace kvlab {

inline constexpr const char* kNeverHolds = "length > 1000";

/// Each group in sessions of its own: others could see the measurements of one.
inline const std::vector<std::pair<const char*, std::vector<const char*>>> kConditions = {
    {"states",
     {"evicted", "evicted(layer==1)", "replaced", "deleted", "changed(rows(layer==0))", "length % 7 == 0",
      "rows(layer==1) > before(rows(layer==1)) + 1", "token > 128", "actions > 0 and not evicted",
      "brightness(ledger==3) > 30", "phase(ledger==9) == 8", kNeverHolds}},
    {"slots",
     {"moved", "written(slot==5, layer==0)", "written(ledger==7)", "wrap",
      "slot(ledger==12) < before(slot(ledger==12))", "phase(slot==3, layer==0) > 8"}},
    {"drift",
     {"kl > 0.02", "kl > before(kl) + 0.001", "attention_error(layer==1) > before(attention_error(layer==1)) + 0.01"}},
    {"exactness", {"stale", "exactness(ledger==5) != 'exact'"}},
    {"attention", {"read(layer==0, ledger==2) > 0.05", "read(ledger==1)", "kl > -1 and read(ledger==1)"}}};

/// A session, the hash of every entry, and the entries at which each condition held when they were made.
struct Recorded {
  SessionFixture s;
  std::mt19937 random;
  std::vector<const char*> texts;
  std::vector<Expression> conditions;
  std::map<int, std::string> hashes;
  std::vector<std::set<int>> held;  // [conditions] entries
  std::optional<CacheState> before;
  SightState then;         // measured of it
  std::int64_t slots = 0;  // slots of all pools
  int grown = -1;          // entry at which their number changed last

  Recorded(json manifest, unsigned seed, const std::vector<const char*>& asked) : s(manifest), random(seed) {
    for (const char* text : asked)
      if (Result<Expression> read = readExpression(*s, text, true)) {
        conditions.push_back(read.take());
        texts.push_back(text);
      }
    held.resize(conditions.size());
    s->setPublish([this](const SnapshotPtr&) { see(); });
    s->history().anchorEvery(24);
    keepAttention(*s);
    see();
    s.prompt(12, seed);
  }

  bool needs(Need need) const {
    return std::ranges::any_of(conditions, [need](const Expression& one) { return one.needs(need); });
  }

  /// Asks all conditions of the commit that made the present entry.
  void see() {
    const int entry = s->timeline().currentId();
    if (s->history().replaying()) return;
    std::int64_t all = 0;
    for (const CacheLayer layer : s->store().layers()) all += s->store().pool(layer).slots();
    if (std::exchange(slots, all) != all) grown = entry;
    if (!hashes.emplace(entry, s.hash()).second) return;
    Sight at;
    at.now = observeNow(*s, [this](Need need) { return needs(need); });
    if (before) {
      at.before = then;
      at.before.state = &*before;
      at.report = s->timeline().entry(entry).report.get();
      for (std::size_t i = 0; i < conditions.size(); ++i)
        if (conditions[i].holds(at)) held[i].insert(entry);
    }
    then = at.now;
    before = s->state();
  }
};

}  // namespace kvlab
