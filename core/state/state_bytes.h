// SPDX-License-Identifier: Apache-2.0
// Bytes that a state costs a history that keeps it beside others. States share buffers, so the bytes of one alone say
// little. Engine thread.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/api/column.h"

namespace kvlab {

/// The buffers of a state by address, so that shared buffers count once.
class StateBuffers {
 public:
  void add(const void* address, std::size_t bytes) {
    if (address && bytes) m_all.emplace_back(address, static_cast<std::int64_t>(bytes));
  }
  template <class T>
  void add(const Column<T>& column) {
    add(column.data(), column.roomBytes());
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(list.data(), list.capacity() * sizeof(T));
  }
  void add(const std::vector<bool>& list) { add(&list, list.capacity() / 8); }

  /// Each once, ascending.
  void sort();
  /// Bytes of the buffers that `other` does not have; both are sorted.
  std::int64_t beside(const StateBuffers& other) const;

 private:
  std::vector<std::pair<const void*, std::int64_t>> m_all;
};

struct CacheState;

/// Bytes that `state` does not share with `other`, without the overhead of the allocator.
std::int64_t bytesBeside(const CacheState& state, const CacheState& other);

}  // namespace kvlab
