// SPDX-License-Identifier: Apache-2.0
// The fault drill damages a cache on purpose, or arms a failure, so that people can see invariants and recovery
// at work. No other code may change one blade of the knife alone. A session allows the drill only if its
// manifest says `faults`. Engine thread. semantics.md, section 9.
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
  std::string_view caughtBy;  // invariant that finds the damage; empty: a step fails instead
  bool atOnce = false;        // the cheap checks of the same tick find it; else within scrub_period
};

/// Every kind, in the order of help.
std::span<const FaultKind> faultKinds();

/// Carries the fault out. `params` is an object of {layer, index, bit, other, column, seed, n}, all optional. A
/// missing field is drawn from `seed` (default 1); one seed draws the same for the same state. Returns
/// {kind, layer, index, ledger, slot, bit, ...} or {kind, n}. An error (code bad_fault) names the field, and
/// nothing has changed.
Result<nlohmann::json> injectFault(std::string_view kind, const nlohmann::json& params, CacheState& state,
                                   CacheStore& store, FaultDoor& door);

}  // namespace kvlab
