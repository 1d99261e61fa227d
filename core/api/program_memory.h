// SPDX-License-Identifier: Apache-2.0
// What the program takes of the machine's memory. Any thread.
#pragma once
#include <cstdint>

namespace kvlab {

/// Bytes of pages that are there, of all sessions and of the window; 0 = the system does not tell.
std::int64_t programBytes();
/// Bytes that the program may still take: what the machine and the program's control group have left, and what the
/// limit of addresses leaves.
std::int64_t memoryLeft();

}  // namespace kvlab
