// SPDX-License-Identifier: Apache-2.0
// The fault drill damages a cache on purpose, or arms a failure, so that people can see invariants and recovery at
// work. It is the only code that may change cache or mirror alone. A session allows the drill only if its manifest says
// `faults`. Engine thread. semantics.md, section 9.
#pragma once
#include <span>
#include <string_view>

#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct FaultKind {
  std::string_view kind;
  std::string_view title;     // one line for help
  std::string_view params;    // the fields it takes, for help
  std::string_view caughtBy;  // invariant that finds the damage; empty: a later step fails
  bool atOnce = false;        // cheap checks of the same tick find it; else within scrub_period ticks
};

/// Every kind, in the order of help.
std::span<const FaultKind> faultKinds();

/// Applies the fault. `params` is an object {layer, index, bit, other, column, seed, n}; all fields are optional. A
/// missing field is drawn from `seed` (default 1); equal seeds draw equal values for equal states. Returns {kind,
/// layer, index, ledger, slot, bit, ...} or {kind, n}. Error (code bad_fault) names the field; nothing has changed
/// then.
Result<nlohmann::json> injectFault(std::string_view kind, const nlohmann::json& params, CacheState& state,
                                   CacheStore& store, FaultDoor& door);

}  // namespace kvlab
