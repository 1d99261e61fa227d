// SPDX-License-Identifier: Apache-2.0
// key_phase at_write: stored keys carry the rotation of the phase they were written at, so an edit
// that moves phases rewrites every row behind it, in place, as llama.cpp's K-shift does. A shift is
// one rotation by the difference, in f32, rounded to the storage type. It exists to be measured
// against keys that are rotated on read (semantics.md, section 2). Engine thread.
#pragma once
#include "core/model/decoder/transformer.h"
#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// Phases that rows of one layer's map were written at, by ledger id; -1 = as the map says.
using WrittenPhases = std::vector<std::int32_t>;

/// The phases at which the rows of `before` are stored.
std::vector<WrittenPhases> writtenPhases(const CacheState& before);

/// Brings every row of `after` from the phase in `written` ([layers]) to the one in its map. Counts
/// it in after.rotations and, with `measure`, the error against a rotation in double. Returns bytes
/// read and written; 0 = nothing had to move.
std::int64_t shiftKeys(CacheState& after, const std::vector<WrittenPhases>& written, Transformer& transformer,
                       CacheStore& store, bool measure);

}  // namespace kvlab
