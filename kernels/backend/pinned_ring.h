// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory for copies. The ring hands memory out front to back and begins anew when the device has
// caught up. The owner waits and frees.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvlab::kernels {

class PinnedRing {
 public:
  PinnedRing() = default;
  PinnedRing(std::byte* memory, int64_t bytes) : m_memory(memory), m_bytes(bytes) {}

  std::byte* memory() const { return m_memory; }
  bool fits(int64_t bytes) const { return m_used + bytes <= m_bytes; }
  /// Memory from a border of 64, if it fits.
  std::byte* take(int64_t bytes) {
    std::byte* taken = m_memory + m_used;
    m_used += (bytes + 63) / 64 * 64;
    return taken;
  }
  void reset() { m_used = 0; }

 private:
  std::byte* m_memory = nullptr;
  int64_t m_bytes = 0, m_used = 0;
};

}  // namespace kvlab::kernels
