// SPDX-License-Identifier: Apache-2.0
#include "core/state/row_pool.h"

#include <sys/mman.h>

#include <utility>

namespace kvlab {
namespace {

// A check reads one cache line of every row: with small pages most of the time goes into address translation.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Result<RowPool> RowPool::create(const kernels::RowFormat& format, std::int32_t slots) {
  RowPool pool;
  pool.m_format = format;
  pool.m_stride = kernels::rowLayout(format).stride;
  pool.m_slots = slots;
  const auto bytes = static_cast<std::size_t>(pool.m_stride) * static_cast<std::size_t>(slots);
  pool.m_mapped = bytes + (bytes >= kHugePage ? kHugePage : 0);  // room to begin at a huge page
  void* memory = mmap(nullptr, pool.m_mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return Error{"out_of_memory", "a row pool could not be reserved",
                 std::to_string(bytes) + " bytes for " + std::to_string(slots) + " rows were refused",
                 "lower capacity or history_bytes in the manifest"};
  pool.m_mapping = pool.m_data = static_cast<std::uint8_t*>(memory);
  if (pool.m_mapped == bytes) return pool;
  pool.m_data += (kHugePage - reinterpret_cast<std::uintptr_t>(memory) % kHugePage) % kHugePage;
  madvise(pool.m_data, bytes, MADV_HUGEPAGE);  // advice: refusal changes nothing
  return pool;
}

RowPool::~RowPool() {
  if (m_mapping) munmap(m_mapping, m_mapped);
}

void RowPool::swap(RowPool& other) noexcept {
  std::swap(m_mapping, other.m_mapping);
  std::swap(m_mapped, other.m_mapped);
  std::swap(m_data, other.m_data);
  std::swap(m_format, other.m_format);
  std::swap(m_stride, other.m_stride);
  std::swap(m_slots, other.m_slots);
}

}  // namespace kvlab
