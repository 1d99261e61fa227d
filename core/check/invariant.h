// SPDX-License-Identifier: Apache-2.0
// An invariant is a registered truth about a session's state: one file, one line in invariants.inc. The window,
// scripts, the command line and tests take their lists from there. A check reads and reports; a check never
// changes or repairs. Engine thread.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/api/manifest.h"
#include "core/api/report.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct CheckInput {
  const CacheState& state;
  const CacheStore& store;
  const Manifest& manifest;
  std::int64_t capacity = 0;   // resident rows per layer
  bool full = false;           // check everything; else the cheap set and a slice of the checksums
  std::int64_t scrubPart = 0;  // this tick's slice of 0 .. scrubPeriod-1; the tick number will do
  std::int32_t vocab = 0;      // of the next logits; 0 = not compared
};

struct Invariant {
  std::string_view id, title;
  void (*check)(const CheckInput& input, std::vector<Violation>& out);
};

/// All of invariants.inc, in its order.
std::span<const Invariant> invariants();

/// Runs every invariant; at most 16 violations per invariant are kept, each naming layer, index and
/// ledger row where it has one.
std::vector<Violation> checkAll(const CheckInput& input);

}  // namespace kvlab
