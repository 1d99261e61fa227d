// SPDX-License-Identifier: Apache-2.0
// Answers of the driver that never change while the process lives, each asked for once. Any thread. Host code.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace kvlab::kernels::cuda {

template <class Key, class Value>
class Remembered {
 public:
  /// ask(value) gives 0 or an error, which is handed on and not remembered.
  template <class Ask>
  int32_t of(const Key& key, Value* value, const Ask& ask) {
    const std::scoped_lock lock(m_mutex);
    if (const auto known = m_known.find(key); known != m_known.end()) {
      *value = known->second;
      return 0;
    }
    if (const int32_t error = ask(value)) return error;
    m_known.emplace(key, *value);
    return 0;
  }

 private:
  std::mutex m_mutex;
  std::map<Key, Value> m_known;
};

/// Limits that are only ever raised.
template <class Key>
class Raised {
 public:
  /// raise() gives 0 or an error; it is called where the limit of `key` is below `value`.
  template <class Raise>
  int32_t to(const Key& key, int64_t value, const Raise& raise) {
    const std::scoped_lock lock(m_mutex);
    int64_t& limit = m_limits[key];
    if (value <= limit) return 0;
    if (const int32_t error = raise()) return error;
    limit = value;
    return 0;
  }

 private:
  std::mutex m_mutex;
  std::map<Key, int64_t> m_limits;
};

}  // namespace kvlab::kernels::cuda
