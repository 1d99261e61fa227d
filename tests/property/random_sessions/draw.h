// SPDX-License-Identifier: Apache-2.0
// Random choices of a session, the same on every machine for one seed. A value that its session owns; one thread.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace kvlab::random_sessions {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : m_random(seed) {}

  /// From 0 to n - 1; 0 where n is not positive.
  int below(std::int64_t n) { return n > 0 ? static_cast<int>(m_random() % static_cast<std::uint64_t>(n)) : 0; }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool percent(int chance) { return below(100) < chance; }
  /// From -1 to 1, in hundredths.
  double share() { return between(-100, 100) / 100.0; }

  template <class T>
  T one(std::initializer_list<T> of) {
    return of.begin()[below(static_cast<std::int64_t>(of.size()))];
  }
  template <class T>
  const T& one(const std::vector<T>& of) {
    return of[static_cast<std::size_t>(below(static_cast<std::int64_t>(of.size())))];
  }

 private:
  std::mt19937_64 m_random;
};

}  // namespace kvlab::random_sessions
