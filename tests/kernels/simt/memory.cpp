// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) (static_cast<void>(at), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) (static_cast<void>(at), static_cast<void>(bytes))
#endif

namespace kvlab::simt {
namespace {

constexpr size_t kPage = size_t{2} << 20;  // huge pages: opening and closing takes microseconds
constexpr size_t kRange = size_t{1} << 38;
constexpr size_t kAlign = 256, kGap = 256;
constexpr size_t kFillLimit = size_t{64} << 20;

size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

DeviceMemory::DeviceMemory(size_t budget) : m_budget(budget) {
  void* at = mmap(nullptr, kRange + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    m_budget = 0;
    return;
  }
  m_base = reinterpret_cast<std::byte*>(roundUp(reinterpret_cast<uintptr_t>(at), kPage));
  madvise(m_base, kRange, MADV_HUGEPAGE);
}

DeviceMemory::~DeviceMemory() = default;  // the range goes with the process; a late access still crashes

void DeviceMemory::change(int by) {
  const bool was = m_open > 0;
  m_open += by;
  if (was != (m_open > 0) && m_top > 0) mprotect(m_base, m_top, m_open > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void DeviceMemory::grow(size_t to) {
  to = roundUp(to, kPage);
  if (to <= m_top) return;
  mprotect(m_base + m_top, to - m_top, PROT_READ | PROT_WRITE);
  ASAN_POISON_MEMORY_REGION(m_base + m_top, to - m_top);
  m_top = to;
}

void* DeviceMemory::allocate(size_t bytes) {
  const size_t size = roundUp(bytes, kAlign);
  if (size > m_budget - m_used || size + kGap > kRange) return nullptr;
  size_t at = kGap;  // first fit
  for (const auto& [offset, length] : m_live) {
    if (at + size + kGap <= offset) break;
    at = offset + roundUp(length, kAlign) + kGap;
  }
  if (at + size > kRange) return nullptr;
  const Open open(*this);
  grow(at + size);
  m_live[at] = bytes;
  m_used += size;
  ASAN_UNPOISON_MEMORY_REGION(m_base + at, bytes);
  if (bytes <= kFillLimit) memset(m_base + at, 0xff, bytes);
  return m_base + at;
}

bool DeviceMemory::release(void* memory) {
  if (!touches(memory)) return false;
  const auto it = m_live.find(static_cast<size_t>(static_cast<std::byte*>(memory) - m_base));
  if (it == m_live.end()) return false;
  m_used -= roundUp(it->second, kAlign);
  ASAN_POISON_MEMORY_REGION(memory, it->second);
  m_live.erase(it);
  return true;
}

bool DeviceMemory::touches(const void* at) const {
  const auto* p = static_cast<const std::byte*>(at);
  return m_base && p >= m_base && p < m_base + kRange;
}

bool DeviceMemory::holds(const void* at, size_t bytes) const {
  if (!touches(at)) return false;
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(at) - m_base);
  auto it = m_live.upper_bound(offset);
  if (it == m_live.begin()) return false;
  --it;
  return offset + bytes <= it->first + it->second;
}

}  // namespace kvlab::simt
