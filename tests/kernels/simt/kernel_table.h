// SPDX-License-Identifier: Apache-2.0
// What each kernel takes of a device: kernel_resources.inc, found by the address of the kernel's function.
#pragma once

#include <array>
#include <string>

namespace kvlab::simt {

/// Architectures that the table has registers of.
inline constexpr std::array kResourceColumns = {75, 80, 90, 100, 120};

struct KernelResources {
  std::string name;
  std::array<int, kResourceColumns.size()> registers{};  ///< of a thread
  int sharedBytes = 0;                                   ///< static ones

  /// Of the newest architecture in the table that is not newer.
  int registersOn(int capability) const {
    int found = registers[0];
    for (size_t i = 0; i < registers.size(); ++i)
      if (kResourceColumns[i] <= capability) found = registers[i];
    return found;
  }
};

/// The line of a kernel, an instance of a template included; null if there is none. Any thread, one at a time.
const KernelResources* resourcesOf(const void* kernel);

/// A line more, for kernels of a test.
void declareKernel(const std::string& name, int registers, int sharedBytes);

}  // namespace kvlab::simt
