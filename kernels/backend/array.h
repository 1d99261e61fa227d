// SPDX-License-Identifier: Apache-2.0
// Memory of a back end that lasts: weights, tables, pools, scratch of a model. The back end outlives it.
#pragma once

#include <span>
#include <utility>

#include "kernels/backend/backend.h"

namespace kvlab::kernels {

template <class T>
class Array {
 public:
  Array() = default;
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() {
    if (m_backend) m_backend->release(m_data);
  }

  /// Makes room for `count` undefined values in place of the old values; false where memory was refused.
  bool allocate(Backend& backend, int64_t count) {
    *this = Array();
    m_data = static_cast<T*>(backend.allocate(count * static_cast<int64_t>(sizeof(T))));
    m_backend = &backend;
    m_size = m_data ? count : 0;
    return m_data;
  }
  /// Takes the values of `other` in place of the old ones, in pages that the two share until one of them is written;
  /// false where that cannot be.
  bool share(Backend& backend, const Array& other) {
    *this = Array();
    m_data = static_cast<T*>(backend.share(*other.m_backend, other.m_data));
    m_backend = &backend;
    m_size = m_data ? other.m_size : 0;
    return m_data;
  }
  /// The same as allocate(), filled with the host's values.
  bool assign(Backend& backend, std::span<const T> values) {
    if (!allocate(backend, static_cast<int64_t>(values.size()))) return false;
    write(0, values);
    return true;
  }
  /// Copies host values to [at, at + size).
  void write(int64_t at, std::span<const T> values) {
    m_backend->upload(m_data + at, values.data(), static_cast<int64_t>(values.size_bytes()));
  }

  std::optional<PageUse> pages() const { return m_backend ? m_backend->pages(m_data) : std::nullopt; }

  T* data() const { return m_data; }
  int64_t size() const { return m_size; }

 private:
  void swap(Array& other) noexcept {
    std::swap(m_backend, other.m_backend);
    std::swap(m_data, other.m_data);
    std::swap(m_size, other.m_size);
  }

  Backend* m_backend = nullptr;
  T* m_data = nullptr;
  int64_t m_size = 0;
};

}  // namespace kvlab::kernels
