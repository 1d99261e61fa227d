// SPDX-License-Identifier: Apache-2.0
// What each kernel takes of a device: kernel_resources.inc, found by the address of the kernel's function.
#pragma once

#include <string>

namespace kvlab::simt {

struct KernelResources {
  std::string name;
  int registers = 0;    ///< of a thread
  int sharedBytes = 0;  ///< static ones
};

/// The line of a kernel, an instance of a template included; null if there is none. Any thread, one at a time.
const KernelResources* resourcesOf(const void* kernel);

/// A line more, for kernels of a test.
void declareKernel(KernelResources);

}  // namespace kvlab::simt
