// SPDX-License-Identifier: Apache-2.0
// Residency maps in memory that ops can read: the host's own columns, or copies in a backend's memory at stable
// addresses. Only the range that differs from the last update is sent again; after an append this is the tail. Engine
// thread.
#pragma once
#include <span>
#include <vector>

#include "kernels/backend/array.h"

namespace kvlab {

class MirroredColumn {
 public:
  /// Makes `now` readable for ops until the next call. A copy gets room for at least `room` values.
  const std::int32_t* update(kernels::Backend& backend, std::span<const std::int32_t> now, std::int64_t room);
  std::int64_t sent() const { return m_sent; }  // bytes since the start

 private:
  std::vector<std::int32_t> m_last;
  kernels::Array<std::int32_t> m_copy;
  std::int64_t m_sent = 0;
};

/// One pair of columns per layer group.
class MapMirror {
 public:
  struct View {
    const std::int32_t* slots = nullptr;   // [rows]
    const std::int32_t* phases = nullptr;  // [rows]
  };
  View update(kernels::Backend& backend, std::size_t group, std::span<const std::int32_t> slots,
              std::span<const std::int32_t> phases, std::int64_t room);
  std::int64_t sent() const;  // bytes since the start

 private:
  struct Pair {
    MirroredColumn slots, phases;
  };
  std::vector<Pair> m_groups;
};

}  // namespace kvlab
