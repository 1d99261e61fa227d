// SPDX-License-Identifier: Apache-2.0
// Memory of a back end that lasts: weights, tables, pools, scratch of a model. The back end outlives it.
#pragma once

#include <memory>
#include <span>

#include "kernels/backend/backend.h"

namespace kvlab::kernels {

template <class T>
class Array {
 public:
  /// Makes room for `count` undefined values in place of the old values; false where memory was refused.
  bool allocate(Backend& backend, int64_t count) {
    m_data.reset();
    return own(backend, backend.allocate(count * static_cast<int64_t>(sizeof(T))), count);
  }
  /// Takes the values of `other` in place of the old ones, in pages that the two share until one of them is written;
  /// false where that cannot be.
  bool share(Backend& backend, const Array& other) {
    m_data.reset();
    return own(backend, backend.share(*other.backend(), other.data()), other.size());
  }
  /// Room for `count` values in the same place, the first `kept` as they were; false, and nothing has changed, where
  /// that cannot be.
  bool resize(int64_t count, int64_t kept) {
    constexpr auto kEach = static_cast<int64_t>(sizeof(T));
    if (!m_data || !backend()->resize(data(), count * kEach, kept * kEach)) return false;
    m_size = count;
    return true;
  }
  /// The same as allocate(), filled with the host's values.
  bool assign(Backend& backend, std::span<const T> values) {
    if (!allocate(backend, static_cast<int64_t>(values.size()))) return false;
    write(0, values);
    return true;
  }
  /// Copies host values to [at, at + size).
  void write(int64_t at, std::span<const T> values) {
    backend()->upload(data() + at, values.data(), static_cast<int64_t>(values.size_bytes()));
  }

  std::optional<PageUse> pages() const { return m_data ? backend()->pages(data()) : std::nullopt; }

  T* data() const { return m_data.get(); }
  int64_t size() const { return m_data ? m_size : 0; }

 private:
  struct Release {
    Backend* backend = nullptr;
    void operator()(T* memory) const { backend->release(memory); }
  };

  Backend* backend() const { return m_data.get_deleter().backend; }
  bool own(Backend& backend, void* memory, int64_t size) {
    m_data = {static_cast<T*>(memory), Release{&backend}};
    m_size = size;
    return memory;
  }

  std::unique_ptr<T, Release> m_data;
  int64_t m_size = 0;
};

}  // namespace kvlab::kernels
