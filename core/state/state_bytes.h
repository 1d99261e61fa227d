// SPDX-License-Identifier: Apache-2.0
// Bytes that a state costs a history that keeps it beside others. States share buffers, so the bytes of one alone say
// little. Engine thread.
#pragma once
#include <cstdint>

namespace kvlab {

struct CacheState;

/// Bytes that `state` does not share with `other`, without the overhead of the allocator.
std::int64_t bytesBeside(const CacheState& state, const CacheState& other);

}  // namespace kvlab
