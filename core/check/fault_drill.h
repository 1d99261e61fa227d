// SPDX-License-Identifier: Apache-2.0
// The fault drill: damages a cache on purpose, or arms a failure, so that the invariants and the
// recovery can be seen at work. The only code that may change one blade of the knife alone; a session
// lets it in only when its manifest says `faults`. Engine thread. semantics.md, section 9.
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
  std::string_view caughtBy;  // invariant that names it; empty: nothing is damaged, a step fails
  bool atOnce = false;        // caught by the cheap checks of the same tick, else within scrub_period
};

/// Every kind, in the order of help.
std::span<const FaultKind> faultKinds();

/// Does it. `params` is an object of {layer, index, bit, other, column, seed, n}, all optional: what is
/// left out is drawn from `seed` (default 1), the same for the same state. Returns what was done:
/// {kind, layer, index, ledger, slot, bit, ...} or {kind, n}. Errors (code bad_fault) name the field;
/// nothing has changed then.
Result<nlohmann::json> injectFault(std::string_view kind, const nlohmann::json& params, CacheState& state,
                                   CacheStore& store, FaultDoor& door);

}  // namespace kvlab
