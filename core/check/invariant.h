// SPDX-License-Identifier: Apache-2.0
// An invariant is a registered property of a session's state: one file, one line in invariants.inc, from which the
// window, scripts, the command line and tests take their lists. Checks only read and report. Engine thread.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/api/manifest.h"
#include "core/api/report.h"
#include "core/model/decoder/transformer.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

struct CheckInput {
  const CacheState& state;
  const CacheStore& store;
  const Manifest& manifest;
  std::int64_t capacity = 0;             // resident rows per layer
  bool full = false;                     // check everything; else the cheap checks and a slice of the rows
  bool late = false;                     // asked for some time after the commit: slots that rows have left may be used
  std::int64_t scrubPart = 0;            // slice for this tick, modulo scrubPeriod; -1 = none
  std::int32_t vocab = 0;                // vocabulary size of the logits; 0 = do not compare
  Transformer* transformer = nullptr;    // transformer of the model that made the rows; null = nothing is recomputed
  const HeldSlots* held = nullptr;       // null = slots are not counted
  std::span<const PassDeed> deeds = {};  // deeds of the passes that made the state; empty = not recorded
  std::optional<PassKind> decided = {};  // the pass behind which policies decided in the commit; none = they did not
  const DrawDeed* drawn = nullptr;       // origin of the tick's token; null = none was generated
  const CullDeed* culled = nullptr;      // decision of culling in the tick; null = no tick asked it
  std::span<const int> turns = {};       // [cache layers, or fewer] how often the commit turned stored keys
  const CacheState* before = nullptr;    // the state that the last commit was made from; null = there is none
  const CacheState* left = nullptr;      // the state that a step through history has come from; null = none
  const CacheState* passed = nullptr;    // cheap checks: `before`, if a check found nothing in it; null = all is new
  bool resized = false;                  // a pool has another size since then: rows that had left were not copied
  std::span<const LedgerId> doubted = {};  // rows that exact_rows has found wrong in the first layer, see Harm::read
  bool refreshed = false;  // a question, or a policy, has computed the logits anew since the passes of `deeds`
};

/// Extent of a check that is not full: everything, the rows whose ledger id falls into the slice, a part, or nothing.
/// A check of less than everything proves nothing about the rest.
enum class Cheap : std::uint8_t { All, Slice, Part, None };

/// Subject of an invariant: the state, or stored rows, each by itself.
enum class Of : std::uint8_t { State, Rows };

class Findings;  // core/check/checks.h

struct Invariant {
  std::string_view id, title;
  void (*check)(const CheckInput& input, Findings& findings);
  Of of;
  Cheap cheap;
};

/// All of invariants.inc, in its order. parts/kinds.h adds those of the kinds.
std::span<const Invariant> commonInvariants();
/// Those of shape, about mirror, maps and slots: they stand in front of the first about rows.
std::span<const Invariant> shapeInvariants();

}  // namespace kvlab
