// SPDX-License-Identifier: Apache-2.0
// Bytes that a state costs a history that keeps it beside others. States share buffers, so the bytes of one alone say
// little. Engine thread.
#pragma once
#include <cstdint>

namespace kvlab {

struct CacheState;

/// Bytes of what `state` does not share with `other`, without what the allocator adds.
std::int64_t bytesBeside(const CacheState& state, const CacheState& other);

}  // namespace kvlab
