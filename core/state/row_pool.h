// SPDX-License-Identifier: Apache-2.0
// The row pool of one layer: [slots] records of kernels/row_format.h in a backend's memory. Arguments and results are
// host values; only data() is an address for ops. A slot is a row number inside the pool. Owned by a session; engine
// thread only.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/api/report.h"
#include "kernels/backend/array.h"
#include "kernels/row_format.h"

namespace kvlab {

/// Slots as the kernels take them: a Slot is an int32 and nothing else.
inline std::span<const std::int32_t> plain(std::span<const Slot> slots) {
  static_assert(sizeof(Slot) == sizeof(std::int32_t));
  return {reinterpret_cast<const std::int32_t*>(slots.data()), slots.size()};
}

/// What was counted while so many values were converted.
Conversions conversionsOf(const kernels::TensorStats& stats, std::int64_t values);

/// Rows that were converted, and what was counted meanwhile.
struct CountedRows {
  std::int64_t rows = 0;
  kernels::WriteRowsStats stats = {};
};

class RowPool {
 public:
  RowPool() = default;
  /// most: slots that it may come to have. In host memory addresses cost nothing, and it grows in them to so many.
  static Result<RowPool> create(kernels::Backend& backend, const kernels::RowFormat& format, std::int32_t slots,
                                std::int32_t most = 0);
  /// A pool of the same size with the rows that `other` has in these slots. The pools share their pages until one of
  /// them writes; where the back ends cannot share, the rows are copied. Errors: out_of_memory.
  static Result<RowPool> like(kernels::Backend& backend, const RowPool& other, std::span<const Slot> rows);

  kernels::Backend& backend() const { return *m_backend; }
  std::uint8_t* data() const { return m_records.data(); }  // for ops
  const kernels::RowFormat& format() const { return m_format; }
  std::int64_t stride() const { return m_stride; }  // bytes
  std::int32_t slots() const { return m_slots; }
  std::int64_t bytes() const { return m_records.size(); }  // reserved bytes
  std::int64_t width() const { return std::int64_t{m_format.kvHeads} * m_format.headDim; }
  /// Counters of conversions, for ops to update; null for types without scales. Passes over a session's pools bring
  /// counters of their own and settle them here, so that those of a tick can be told from those before.
  kernels::WriteRowsStats* stats() const { return m_stats.data(); }
  void settleCounts(std::int64_t rows, const kernels::WriteRowsStats& counted);
  /// Conversions since the pool was made.
  kernels::WriteRowsStats counts() const;
  /// Conversions since the last call. Costs nothing.
  CountedRows takeCounts() { return std::exchange(m_fresh, {}); }
  kernels::PoolView view() const { return {data(), m_format}; }
  /// Memory that the records take; if pages are not counted, the reserved memory.
  kernels::PageUse memory() const;

  /// Copies stored K and V to the host as f32, [slots, width] each; either may be null.
  void gather(std::span<const std::int32_t> slots, float* k, float* v) const;
  /// Writes K and V from the host, [slots, width] each, with tags [slots].
  void write(std::span<const std::int32_t> slots, const float* k, const float* v, const std::uint64_t* tags);
  /// Copies stored tags and checksums to the host, [slots] each; either may be null.
  void readTags(std::span<const std::int32_t> slots, std::uint64_t* tags, std::uint64_t* checksums) const;
  /// Copies whole records in list order; `from` may be this pool.
  void move(const RowPool& from, std::span<const kernels::RowMove> moves);
  void zero(std::span<const std::int32_t> slots);
  /// So many slots, with the first `kept` records: in the same memory where that is large enough, which leaves shared
  /// pages shared, else in other memory. Errors: out_of_memory, and the pool is as it was.
  Status resize(std::int32_t slots, std::int32_t kept);
  /// Copies whole records between pool and host memory, [slots, stride] bytes.
  void readRecords(std::span<const Slot> slots, std::uint8_t* out) const;
  void writeRecords(std::span<const Slot> slots, const std::uint8_t* in);

 private:
  RowPool(kernels::Backend& backend, const kernels::RowFormat& format, std::int32_t slots)
      : m_backend(&backend), m_format(format), m_stride(kernels::rowLayout(format).stride), m_slots(slots) {}
  const kernels::OpTable& ops() const { return m_backend->ops(); }
  Status reserve(std::int32_t most = 0);

  kernels::Backend* m_backend = nullptr;
  kernels::Array<std::uint8_t> m_records;
  kernels::Array<kernels::WriteRowsStats> m_stats;
  kernels::WriteRowsStats m_settled;
  CountedRows m_fresh;
  kernels::RowFormat m_format;
  std::int64_t m_stride = 0;
  std::int32_t m_slots = 0;
};

/// Whole records to copy from a pool to host memory, [slots, stride] bytes.
struct RecordRead {
  const RowPool* pool = nullptr;
  std::span<const Slot> slots;
  std::uint8_t* out = nullptr;
};
/// Copies from pools of one backend with one wait for the device.
void readRecords(std::span<const RecordRead> reads);

/// Checks the checksums of the same slots in several pools with one wait for the device. RowVerdict bits, [pools,
/// slots].
std::vector<std::uint8_t> verifyRows(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                                     std::span<const std::int32_t> slots);
/// K or V as in RowPool::gather, [pools, slots, width].
std::vector<float> gatherRows(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                              std::span<const std::int32_t> slots, bool keys);

/// Number of rows per pool whose tag differs from the expected one, [pools]; the slots are the same in all pools.
std::vector<std::int64_t> wrongTags(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                                    std::span<const std::int32_t> slots, std::span<const std::uint64_t> tags);

}  // namespace kvlab
