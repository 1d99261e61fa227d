// SPDX-License-Identifier: Apache-2.0
#include "core/model/weight_memory.h"

#include <sys/mman.h>

namespace kvlab {

std::shared_ptr<std::byte> weightMemory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // advice: refusal changes nothing
  return {static_cast<std::byte*>(memory), [bytes](std::byte* p) { ::munmap(p, bytes); }};
}

}  // namespace kvlab
