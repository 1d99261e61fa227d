// SPDX-License-Identifier: Apache-2.0
#include "launch_limits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kernel_table.h"
#include "runtime.h"

namespace kvlab::simt {
namespace {

int roundUp(int n, int to) { return (n + to - 1) / to * to; }

/// Dynamic shared memory that kernels have asked for (cudaFuncSetAttribute).
std::unordered_map<const void*, int>& askedFor() {
  static std::unordered_map<const void*, int> all;
  return all;
}

int mostDynamic(const void* kernel, const KernelResources& k) {
  const auto asked = askedFor().find(kernel);
  return asked == askedFor().end() ? kSharedUnasked - k.sharedBytes : asked->second;
}

/// The line of a kernel that the device has an image for.
cudaError_t findKernel(const void* kernel, const KernelResources** out) {
  if (imageFor(deviceProfile()).binary == 0) return cudaErrorNoKernelImageForDevice;
  *out = resourcesOf(kernel);
  if (*out) return cudaSuccess;
  fprintf(stderr, "emulated device: a kernel that is not in kernel_resources.inc, or a file without symbols\n");
  return cudaErrorInvalidDeviceFunction;
}

bool goodShape(const Launch& l) {
  const dim3 &g = l.grid, &b = l.block;
  const uint64_t threads = uint64_t{b.x} * b.y * b.z;
  return threads > 0 && threads <= kThreadsOfBlock && b.z <= kThreadsOfBlockZ && g.x > 0 && g.y > 0 && g.z > 0 &&
      g.x <= kGridX && g.y <= kGridYZ && g.z <= kGridYZ;
}

int warpsOf(int threads) { return roundUp(threads, 32) / 32; }

/// Blocks whose registers a multiprocessor has. Each of its parts holds every fourth warp of a block, and has its own.
int blocksByRegisters(const KernelResources& k, int threads) {
  const int registers = k.registersOn(imageFor(deviceProfile()).binary),
            ofWarp = std::max(roundUp(registers * 32, kRegisterPiece), kRegisterPiece);
  const int warps = warpsOf(threads), all = kRegisters / kParts / ofWarp * kParts;
  return roundUp(warps, kParts) > all ? 0 : all / warps;
}

int blocksByShared(const DeviceProfile& d, int64_t bytes) {
  const int64_t ofBlock = (bytes + d.sharedPiece() - 1) / d.sharedPiece() * d.sharedPiece() + d.reservedShared();
  return ofBlock == 0 ? d.blocks : static_cast<int>(d.sharedOfMultiprocessor() / ofBlock);
}

}  // namespace

const DeviceProfile& deviceProfile() {
  const char* given = std::getenv("KVLAB_SIMT_DEVICE");
  if (!given || !*given) return kDeviceProfiles[0];
  const DeviceProfile* named = deviceProfileOf(given);
  if (named) return *named;
  fprintf(stderr, "emulated device: KVLAB_SIMT_DEVICE=%s is none of device_profiles.h\n", given);
  std::abort();
}

Image imageFor(const DeviceProfile& d) {
  const char* given = std::getenv("KVLAB_SIMT_IMAGES");
  if (!given || !*given) return {d.capability, d.capability};
  int machine = 0, ptx = 0;
  for (std::string_view rest = given; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const int version = std::atoi(std::string(one).c_str());
    if (version > d.capability) continue;
    if (!one.ends_with("-virtual") && version / 10 == d.capability / 10) machine = std::max(machine, version);
    if (!one.ends_with("-real")) ptx = std::max(ptx, version);
  }
  if (machine > 0) return {machine, machine};
  return {ptx, ptx > 0 ? d.capability : 0};
}

cudaError_t refusal(const Launch& l) {
  if (!goodShape(l)) return cudaErrorInvalidConfiguration;
  const KernelResources* k = nullptr;
  if (const cudaError_t e = findKernel(l.kernel, &k); e != cudaSuccess) return e;
  const size_t all = l.sharedBytes + static_cast<size_t>(k->sharedBytes);
  if (l.sharedBytes > static_cast<size_t>(std::max(mostDynamic(l.kernel, *k), 0)) ||
      all > static_cast<size_t>(deviceProfile().sharedOfBlock()))
    return cudaErrorInvalidValue;
  const int threads = static_cast<int>(l.block.x * l.block.y * l.block.z);
  return blocksByRegisters(*k, threads) == 0 ? cudaErrorLaunchOutOfResources : cudaSuccess;
}

cudaError_t setSharedLimit(const void* kernel, int bytes) {
  const OnDevice on;
  const KernelResources* k = nullptr;
  if (const cudaError_t e = findKernel(kernel, &k); e != cudaSuccess) return runtime().remember(e);
  if (bytes < 0 || bytes + k->sharedBytes > deviceProfile().sharedOfBlock())
    return runtime().remember(cudaErrorInvalidValue);
  askedFor()[kernel] = bytes;
  return cudaSuccess;
}

cudaError_t kernelAttributes(cudaFuncAttributes* out, const void* kernel) {
  const OnDevice on;
  const KernelResources* k = nullptr;
  if (const cudaError_t e = findKernel(kernel, &k); e != cudaSuccess) return runtime().remember(e);
  const Image image = imageFor(deviceProfile());
  *out = {.sharedSizeBytes = static_cast<size_t>(k->sharedBytes),
          .numRegs = k->registersOn(image.binary),
          .ptxVersion = image.ptx,
          .binaryVersion = image.binary,
          .maxDynamicSharedSizeBytes = mostDynamic(kernel, *k)};
  return cudaSuccess;
}

cudaError_t residentBlocks(int* blocks, const void* kernel, int threads, size_t sharedBytes) {
  const OnDevice on;
  const KernelResources* k = nullptr;
  if (const cudaError_t e = findKernel(kernel, &k); e != cudaSuccess) return runtime().remember(e);
  if (threads <= 0) return runtime().remember(cudaErrorInvalidValue);
  const DeviceProfile& d = deviceProfile();
  const int64_t shared = static_cast<int64_t>(sharedBytes) + k->sharedBytes;
  *blocks = 0;
  if (threads <= static_cast<int>(kThreadsOfBlock) && shared <= d.sharedOfBlock() &&
      static_cast<int64_t>(sharedBytes) <= mostDynamic(kernel, *k))
    *blocks =
        std::min({d.blocks, d.warps() / warpsOf(threads), blocksByRegisters(*k, threads), blocksByShared(d, shared)});
  return cudaSuccess;
}

}  // namespace kvlab::simt
