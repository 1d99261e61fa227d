// SPDX-License-Identifier: Apache-2.0
// Memory of the machine that the program takes, and may still take. Any thread.
#pragma once
#include <cstdint>

namespace kvlab {

/// Bytes of pages that are there, of all sessions and of the window; 0 = the system does not tell.
std::int64_t programBytes();
/// Bytes that the program may still take: as many as the machine, the program's control group and the limit of
/// addresses leave.
std::int64_t memoryLeft();

}  // namespace kvlab
