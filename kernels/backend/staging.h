// SPDX-License-Identifier: Apache-2.0
// Staging brings the arguments of a few op calls to memory that ops can read, and results back. If ops work in host
// memory, nothing is copied: in() and out() give the host's own addresses. A Staging lives on the stack; several may be
// nested.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "kernels/backend/backend.h"

namespace kvlab::kernels {

class Staging {
 public:
  explicit Staging(Backend& backend) : m_backend(backend), m_mark(backend.arena().mark()) {}
  ~Staging() { m_backend.arena().rewind(m_mark); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Host values for ops to read; they stay where they are until the ops are done.
  template <class T>
  const T* in(std::span<const T> values) {
    return static_cast<const T*>(m_backend.onHost() ? values.data() : copyIn(values.data(), bytesOf<T>(values.size())));
  }
  template <class T>
  const T* in(const std::vector<T>& values) {
    return in(std::span<const T>(values));
  }
  /// Room for `count` values that finish() brings to `host`; null for null.
  template <class T>
  T* out(T* host, size_t count) {
    return static_cast<T*>(!host || m_backend.onHost() ? host : bringBack(host, bytesOf<T>(count), false));
  }
  /// The same, with the host's values in it at first.
  template <class T>
  T* inOut(T* host, size_t count) {
    return static_cast<T*>(!host || m_backend.onHost() ? host : bringBack(host, bytesOf<T>(count), true));
  }
  /// finish() brings `count` values from where an op left them to `host`, which ops do not see.
  template <class T>
  void bring(T* host, const T* from, size_t count) {
    m_returns.push_back({host, from, bytesOf<T>(count)});
  }
  /// Undefined values that only ops use.
  template <class T>
  T* temporary(size_t count) {
    return static_cast<T*>(m_backend.arena().take(bytesOf<T>(count)));
  }

  /// Waits for the ops and delivers the results of out() and inOut().
  void finish() {
    start();
    m_backend.finishDownloads();
  }
  /// The first half of finish(), which does not wait. Only finish() may follow.
  void start() {
    std::ranges::sort(m_returns, std::less<>(), &Copy::from);  // neighbours come together
    if (!m_returns.empty()) m_backend.startDownload(m_returns);
    m_returns.clear();
  }

 private:
  template <class T>
  static int64_t bytesOf(size_t count) {
    return static_cast<int64_t>(count * sizeof(T));
  }
  void* copyIn(const void* from, int64_t bytes) {
    void* memory = m_backend.arena().take(bytes);
    if (memory) m_backend.upload(memory, from, bytes);
    return memory;
  }
  void* bringBack(void* host, int64_t bytes, bool filled) {
    void* memory = filled ? copyIn(host, bytes) : m_backend.arena().take(bytes);
    if (memory) m_returns.push_back({host, memory, bytes});
    return memory;
  }

  Backend& m_backend;
  Arena::Mark m_mark;
  std::vector<Copy> m_returns;
};

}  // namespace kvlab::kernels
