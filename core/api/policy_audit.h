// SPDX-License-Identifier: Apache-2.0
// Audit of policies: the request and the result of each, layer by layer. It answers "did my policy run, where,
// and what did it cost?". Values; built on the engine thread, read on any.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/api/ids.h"

namespace kvlab {

/// Rows of the three bands. semantics.md, section 6.
struct Bands {
  std::int32_t sinks = 0, budget = 0, window = 0;
  std::int32_t capacity() const { return sinks + budget + window; }
  bool operator==(const Bands&) const = default;
};

/// A row that left the window, and the row that left the layer for it.
struct Contest {
  LedgerId challenger, loser;  // the same row where the challenger lost
  float challengerScore = 0, loserScore = 0;
  bool operator==(const Contest&) const = default;
};

struct LayerAudit {
  std::string policy;
  Bands bands;                // requested; meaningless where bounded is false
  bool bounded = false;       // the policy limits this layer now
  std::int32_t rows = 0;      // resident after the tick
  std::int64_t rowBytes = 0;  // bytes of one row, all KV heads of the cache layer
  std::int32_t evicted = 0;   // by the last decision
  std::int64_t evictedEver = 0;
  std::optional<Tick> fired;       // last tick that evicted a row
  std::int32_t protectedRows = 0;  // pinned rows between the bands
  std::int32_t waiting = 0;        // rows beyond the bands that wait for the next decision, at most: interval - 1
  std::string fallback;            // action of the policy instead of the request, and why; empty = none
  std::vector<Contest> contests;   // contests of the last decision while streaming, at most kMostContests

  std::int32_t requested() const { return bands.capacity(); }
  std::int32_t allowed() const { return requested() + protectedRows + waiting; }
  /// True if the layer has more rows than it may have: the policy has not enforced its limit.
  bool broken() const { return bounded && rows > allowed(); }
};
inline constexpr std::size_t kMostContests = 64;

struct PolicyAudit {
  Tick tick;                       // tick of the last decision
  bool prefilling = false;         // pruning waits for the end of the prompt
  double us = 0;                   // time of the last decision, microseconds
  std::vector<LayerAudit> layers;  // cache layers
};

}  // namespace kvlab
