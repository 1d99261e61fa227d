// SPDX-License-Identifier: Apache-2.0
// The row pool of one layer: [slots] records of kernels/row_format.h. The address range is reserved
// whole; memory is taken by the first write of a page, so slots kept for history cost nothing until
// used. Owned by a session; written on the engine thread only.
#pragma once
#include <cstddef>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "kernels/row_format.h"

namespace kvlab {

class RowPool {
 public:
  static Result<RowPool> create(const kernels::RowFormat& format, std::int32_t slots);
  RowPool() = default;
  RowPool(RowPool&& other) noexcept { swap(other); }
  RowPool& operator=(RowPool&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RowPool();

  std::uint8_t* data() const { return m_data; }
  const kernels::RowFormat& format() const { return m_format; }
  std::int64_t stride() const { return m_stride; }
  std::int32_t slots() const { return m_slots; }
  std::uint8_t* row(Slot slot) const { return m_data + m_stride * slot.value(); }

 private:
  void swap(RowPool& other) noexcept;
  std::uint8_t* m_mapping = nullptr;
  std::size_t m_mapped = 0;  // bytes
  std::uint8_t* m_data = nullptr;  // in the mapping, at a huge page where the pool is large enough
  kernels::RowFormat m_format;
  std::int64_t m_stride = 0;
  std::int32_t m_slots = 0;
};

}  // namespace kvlab
