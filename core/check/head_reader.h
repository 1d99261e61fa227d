// SPDX-License-Identifier: Apache-2.0
// Reads one KV head of stored rows value by value from their records (kernels/row_format.h), without the ops that
// sessions read rows with. The rows must not change meanwhile. Engine thread.
#pragma once
#include <span>
#include <vector>

#include "core/state/row_pool.h"

namespace kvlab {

class HeadReader {
 public:
  /// Slots inside the pool.
  HeadReader(const RowPool& pool, std::span<const Slot> slots, int head);
  /// The key or the value of the row in one of the slots, [headDim].
  void operator()(std::size_t row, bool value, std::span<double> out) const;

 private:
  kernels::RowFormat m_format;
  kernels::RowLayout m_layout;
  int m_head;
  std::vector<std::uint8_t> m_copied;          // records, where the pool's memory is a device's
  std::vector<const std::uint8_t*> m_records;  // [slots]
};

}  // namespace kvlab
