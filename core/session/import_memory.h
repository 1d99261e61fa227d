// SPDX-License-Identifier: Apache-2.0
// What a session goes by besides rows, after a cache came from a file. Pure.
#pragma once
#include "core/files/cache_import.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// Sets logits, attention, gate scores and what policies remember. The session keeps its policies: memory of a layer
/// serves where the file's policy was the same; elsewhere the layer begins anew, as after setPolicy. Without memory
/// everything does.
void takeMemory(CacheState& state, const CacheImport& rows);

}  // namespace kvlab
