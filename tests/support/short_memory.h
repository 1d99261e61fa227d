// SPDX-License-Identifier: Apache-2.0
// Makes the n-th allocation of this thread fail: operator new in all forms, and the pages that host memory is mapped
// in. For one file of a test program, whose allocations it replaces; include it first.
#pragma once
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

namespace kvlab::test {

/// Allocations from now on: counts them, and fails the one that `left` leads to.
struct ShortMemory {
  static inline thread_local bool on = false;
  static inline thread_local std::int64_t made = 0, left = 0;

  /// n = 0: counts alone.
  static void begin(std::int64_t n) {
    made = 0;
    left = n;
    on = true;
  }
  static void end() { on = false; }
  static bool refuses() {
    if (!on) return false;
    ++made;
    return left > 0 && --left == 0;
  }
};

inline void* taken(std::size_t bytes, std::size_t border, bool throws) {
  void* memory = nullptr;
  if (!ShortMemory::refuses()) memory = std::aligned_alloc(border, (bytes + border - 1) / border * border);
  if (!memory && throws) throw std::bad_alloc();
  return memory;
}

}  // namespace kvlab::test

using kvlab::test::taken;
constexpr std::size_t kUsualBorder = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
void* operator new(std::size_t n) { return taken(n ? n : 1, kUsualBorder, true); }
void* operator new[](std::size_t n) { return taken(n ? n : 1, kUsualBorder, true); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return taken(n ? n : 1, kUsualBorder, false); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return taken(n ? n : 1, kUsualBorder, false); }
void* operator new(std::size_t n, std::align_val_t a) { return taken(n ? n : 1, std::size_t(a), true); }
void* operator new[](std::size_t n, std::align_val_t a) { return taken(n ? n : 1, std::size_t(a), true); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return taken(n ? n : 1, std::size_t(a), false);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

extern "C" void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (kvlab::test::ShortMemory::refuses()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}

/// The library's own allocates a list while it destroys, and nothing could go on behind a failure there. Here depth is
/// small, and elements destroy theirs.
#define KVLAB_DESTROYS_QUIETLY(json)                                     \
  template <>                                                            \
  void json::json_value::destroy(value_t type) {                         \
    const bool was = std::exchange(kvlab::test::ShortMemory::on, false); \
    if (type == value_t::array) delete array;                            \
    if (type == value_t::object) delete object;                          \
    if (type == value_t::string) delete string;                          \
    if (type == value_t::binary) delete binary;                          \
    kvlab::test::ShortMemory::on = was;                                  \
  }
KVLAB_DESTROYS_QUIETLY(nlohmann::json)
KVLAB_DESTROYS_QUIETLY(nlohmann::ordered_json)
