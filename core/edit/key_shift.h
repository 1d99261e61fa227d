// SPDX-License-Identifier: Apache-2.0
// key_phase at_write: a stored key carries the rotation of the phase at which it was written. An edit that moves phases
// therefore rewrites every later key in place, as llama.cpp's K-shift does. A shift is one rotation by the difference,
// in f32, rounded to the storage type. The mode exists for comparison with keys that are rotated on read (semantics.md,
// section 2). Engine thread.
#pragma once
#include <vector>

#include "core/model/decoder/rotary.h"
#include "core/model/decoder/transformer.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// Phases at which rows of one layer's map were written, by ledger id; -1 = the phase in the map.
using WrittenPhases = std::vector<std::int32_t>;

/// Phases at which the rows of `before` are stored, [layers].
std::vector<WrittenPhases> writtenPhases(const CacheState& before);

/// Rotates every row of `after` from its phase in `written` ([layers]) to its phase in the map. Updates
/// after.pasts, and with `measure` also the error against a rotation in double. Returns bytes read and written; 0 =
/// no row had to move.
std::int64_t shiftKeys(CacheState& after, const std::vector<WrittenPhases>& written, Transformer& transformer,
                       CacheStore& store, bool measure);

/// [rows of the map] The rows of the rotary table at which attention reads the rows of a map: at their phases, and at
/// the blur that the kind of session gives them.
std::vector<std::int32_t> rotaryRowsOf(const CacheState& state, const ResidencyView& map, Rotary& rotary);

}  // namespace kvlab
