// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/arena.h"

#include <algorithm>
#include <new>

#include "kernels/backend/backend.h"

namespace kvlab::kernels {

void* Arena::take(int64_t bytes) {
  constexpr int64_t kBorder = 256, kLeast = int64_t{1} << 20;
  const int64_t wanted = (std::max<int64_t>(bytes, 1) + kBorder - 1) / kBorder * kBorder;
  while (m_top.chunk < m_chunks.size() && m_top.used + wanted > m_chunks[m_top.chunk].bytes)
    m_top = {m_top.chunk + 1, 0};
  if (m_top.chunk == m_chunks.size()) {
    const int64_t size = std::max({wanted, kLeast, m_chunks.empty() ? 0 : 2 * m_chunks.back().bytes});
    m_chunks.reserve(m_chunks.size() + 1);
    auto* memory = static_cast<std::byte*>(m_backend.allocate(size));
    if (!memory && m_backend.onHost()) {  // no op of the host looks before it writes
      m_backend.takeFailure();
      throw std::bad_alloc();
    }
    if (!memory) return nullptr;
    m_chunks.push_back({memory, size});
  }
  void* taken = m_chunks[m_top.chunk].memory + m_top.used;
  m_top.used += wanted;
  return taken;
}

bool Arena::holds(const void* from, int64_t bytes) const {
  const auto* at = static_cast<const std::byte*>(from);
  return std::any_of(m_chunks.begin(), m_chunks.end(),
                     [&](const Chunk& c) { return at >= c.memory && at + bytes <= c.memory + c.bytes; });
}

void Arena::clear() {
  for (const Chunk& chunk : m_chunks) m_backend.release(chunk.memory);
  m_chunks.clear();
  m_top = {};
}

}  // namespace kvlab::kernels
