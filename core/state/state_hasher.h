// SPDX-License-Identifier: Apache-2.0
// XXH3-128 over the parts of a state. Engine thread.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "core/api/column.h"

struct XXH3_state_s;

namespace kvlab {

class StateHasher {
 public:
  StateHasher();

  void bytes(const void* data, std::size_t size);
  template <class T>
  void value(const T& v) {
    static_assert(std::is_arithmetic_v<T>);
    bytes(&v, sizeof v);
  }
  template <class T>
  void column(const Column<T>& c) {
    value(static_cast<std::uint64_t>(c.size()));
    bytes(c.data(), c.size() * sizeof(T));
  }
  void text(const std::string& s) {
    value(static_cast<std::uint64_t>(s.size()));
    bytes(s.data(), s.size());
  }
  /// 32 digits.
  std::string hex() const;

 private:
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> m_state;
};

}  // namespace kvlab
