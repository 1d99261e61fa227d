// SPDX-License-Identifier: Apache-2.0
// The row pool of one layer: [slots] records of kernels/row_format.h in the memory of a back end. What
// goes in and comes out here are host values; only data() is an address for ops. Slots are physical row
// numbers inside the pool. Owned by a session; engine thread only.
#pragma once
#include <span>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "kernels/backend/array.h"
#include "kernels/row_format.h"

namespace kvlab {

/// Slots as the kernels take them: a Slot is an int32 and nothing else.
inline std::span<const std::int32_t> plain(std::span<const Slot> slots) {
  static_assert(sizeof(Slot) == sizeof(std::int32_t));
  return {reinterpret_cast<const std::int32_t*>(slots.data()), slots.size()};
}

class RowPool {
 public:
  static Result<RowPool> create(kernels::Backend& backend, const kernels::RowFormat& format, std::int32_t slots);

  kernels::Backend& backend() const { return *m_backend; }
  std::uint8_t* data() const { return m_records.data(); }  // for ops
  const kernels::RowFormat& format() const { return m_format; }
  std::int64_t stride() const { return m_stride; }  // bytes
  std::int32_t slots() const { return m_slots; }
  std::int64_t width() const { return std::int64_t{m_format.kvHeads} * m_format.headDim; }
  /// What writes have seen since the pool was made, where ops add to it; null for types without scales.
  kernels::WriteRowsStats* stats() const { return m_stats.data(); }
  kernels::WriteRowsStats counts() const;
  kernels::PoolView view() const { return {data(), m_format}; }

  /// K and V of rows as f32, [slots, width] each, as stored; either may be null.
  void gather(std::span<const std::int32_t> slots, float* k, float* v) const;
  /// The other way, with a tag for each row.
  void write(std::span<const std::int32_t> slots, const float* k, const float* v, const std::uint64_t* tags);
  /// Tags and checksums as stored, [slots] each; either may be null.
  void readTags(std::span<const std::int32_t> slots, std::uint64_t* tags, std::uint64_t* checksums) const;
  /// Whole records, one after another; the other pool may be this one.
  void move(const RowPool& from, std::span<const kernels::RowMove> moves);
  void zero(std::span<const std::int32_t> slots);
  /// Other memory of so many slots, with the first `kept` records. Errors: out_of_memory, and the pool is as it was.
  Status resize(std::int32_t slots, std::int32_t kept);
  /// Whole records to and from host memory, [slots, stride] bytes.
  void readRecords(std::span<const Slot> slots, std::uint8_t* out) const;
  void writeRecords(std::span<const Slot> slots, const std::uint8_t* in);

 private:
  const kernels::OpTable& ops() const { return m_backend->ops(); }

  kernels::Backend* m_backend = nullptr;
  kernels::Array<std::uint8_t> m_records;
  kernels::Array<kernels::WriteRowsStats> m_stats;
  kernels::RowFormat m_format;
  std::int64_t m_stride = 0;
  std::int32_t m_slots = 0;
};

/// The same slots of several pools, with one wait for the device: RowVerdict bits of the checksums, [pools, slots].
std::vector<std::uint8_t> verifyRows(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                                     std::span<const std::int32_t> slots);
/// K or V as RowPool::gather gives them, [pools, slots, width].
std::vector<float> gatherRows(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                              std::span<const std::int32_t> slots, bool keys);

/// Rows of each pool that carry another tag than expected, [pools]; the slots are the same in all.
std::vector<std::int64_t> wrongTags(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                                    const std::vector<std::int32_t>& slots, const std::vector<std::uint64_t>& tags);

}  // namespace kvlab
