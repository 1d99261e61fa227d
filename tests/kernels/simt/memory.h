// SPDX-License-Identifier: Apache-2.0
// The device's memory: an address range of its own that is closed to everybody except while a kernel or
// a copy runs, so that a host access to a device pointer crashes. New memory holds NaN bits; under the address
// sanitizer the bytes between allocations are poisoned.
#pragma once

#include <cstddef>
#include <map>

namespace kvlab::simt {

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t budget);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* allocate(size_t bytes);                    ///< null where the budget is spent; 256-byte aligned
  bool release(void* memory);                      ///< false for memory that was not allocated
  bool holds(const void* at, size_t bytes) const;  ///< inside of one allocation
  bool touches(const void* at) const;              ///< inside of the device's range
  size_t budget() const { return m_budget; }
  size_t used() const { return m_used; }

  /// The range is open while one of these lives.
  class Open {
   public:
    explicit Open(DeviceMemory& memory) : m_memory(memory) { m_memory.change(+1); }
    ~Open() { m_memory.change(-1); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    DeviceMemory& m_memory;
  };

 private:
  void change(int by);
  void grow(size_t to);

  std::byte* m_base = nullptr;
  size_t m_budget, m_used = 0, m_top = 0;  ///< top: end of all memory ever used, multiple of kPage
  int m_open = 0;
  std::map<size_t, size_t> m_live;  ///< offset -> bytes asked for
};

}  // namespace kvlab::simt
