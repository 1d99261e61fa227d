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
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return Error{"out_of_memory", "a row pool could not be reserved",
                 std::to_string(bytes) + " bytes for " + std::to_string(slots) + " rows were refused",
                 "lower capacity or history_bytes in the manifest"};
  pool.m_data = static_cast<std::uint8_t*>(memory);
  if (bytes >= 2 * kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);  // advice: refusal changes nothing
  return pool;
}

RowPool::~RowPool() {
  if (m_data) munmap(m_data, static_cast<std::size_t>(m_stride) * static_cast<std::size_t>(m_slots));
}

void RowPool::swap(RowPool& other) noexcept {
  std::swap(m_data, other.m_data);
  std::swap(m_format, other.m_format);
  std::swap(m_stride, other.m_stride);
  std::swap(m_slots, other.m_slots);
}

}  // namespace kvlab
