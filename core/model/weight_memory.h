// SPDX-License-Identifier: Apache-2.0
// Memory for weights that lie in no file. It has huge pages where the system offers them, because a product that
// streams gigabytes from small pages waits for address translation. Any thread.
#pragma once
#include <cstddef>
#include <memory>

namespace kvlab {

/// Zeros, page-aligned, given back with the last owner; null where memory is refused.
std::shared_ptr<std::byte> weightMemory(std::size_t bytes);

}  // namespace kvlab
