// SPDX-License-Identifier: Apache-2.0
// Random numbers of generated tasks. A value; one owner.
#pragma once
#include <cstdint>
#include <span>

#include "core/model/counter_random.h"

namespace kvlab {

/// Random numbers of one purpose; other purposes of the same sample have other numbers.
class TaskDraw {
 public:
  TaskDraw(std::uint64_t key, std::uint64_t purpose) : m_key(mix64(key) ^ purpose) {}
  /// From 0 on and below n; n > 0.
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(unitInterval(randomBits(m_key, m_next++)) * static_cast<double>(n));
  }
  std::uint64_t bits() { return randomBits(m_key, m_next++); }
  template <class Value>
  const Value& of(std::span<const Value> list) {
    return list[below(list.size())];
  }

 private:
  std::uint64_t m_key, m_next = 0;
};

}  // namespace kvlab
