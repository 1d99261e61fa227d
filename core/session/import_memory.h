// SPDX-License-Identifier: Apache-2.0
// Restores logits, attention and policy statistics after a cache was imported from a file. Pure.
#pragma once
#include "core/files/cache_import.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// Sets logits, attention, gate scores and the statistics of policies. The session keeps its own policies. A layer
/// takes the file's statistics if the file's policy is the same; otherwise its statistics start empty, as after
/// settings with a policy. Without `rows.memory` all statistics start empty.
void takeMemory(CacheState& state, const CacheImport& rows);

}  // namespace kvlab
