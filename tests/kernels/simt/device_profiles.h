// SPDX-License-Identifier: Apache-2.0
// The devices that the emulated one can be: limits of real cards, out of the table "Technical Specifications per
// Compute Capability" of the CUDA C++ Programming Guide. Multiprocessors and second-level cache are those of the card
// that the line names, out of its data sheet.
#pragma once

#include <cstdint>
#include <cstring>

namespace kvlab::simt {

struct DeviceProfile {
  const char *name, *card;  ///< name: what KVLAB_SIMT_DEVICE says
  int capability;           ///< 10 * major + minor
  int multiprocessors;
  int cacheKib;         ///< second-level cache
  int sharedKib;        ///< shared memory of a multiprocessor
  int threads, blocks;  ///< the most that a multiprocessor holds at once

  constexpr int warps() const { return threads / 32; }
  constexpr int sharedOfMultiprocessor() const { return sharedKib * 1024; }
  /// Bytes of every block that the system takes.
  constexpr int reservedShared() const { return capability >= 80 ? 1024 : 0; }
  /// Static and dynamic shared memory of a block together, for a kernel that has asked for it (opt-in).
  constexpr int sharedOfBlock() const { return sharedOfMultiprocessor() - reservedShared(); }
  /// Shared memory is handed out in pieces of so many bytes.
  constexpr int sharedPiece() const { return capability >= 80 ? 128 : 256; }
};

// The same for all of them.
inline constexpr int kSharedUnasked = 48 * 1024;  ///< shared memory of a block for a kernel that has not asked
inline constexpr int kRegisters = 64 * 1024;      ///< of a multiprocessor, and the most of a block
inline constexpr int kRegisterPiece = 256;        ///< registers of a warp are handed out in such pieces
inline constexpr int kParts = 4;                  ///< parts of a multiprocessor, a quarter of the registers each
inline constexpr unsigned kThreadsOfBlock = 1024, kThreadsOfBlockZ = 64;
inline constexpr unsigned kGridX = 0x7fffffff, kGridYZ = 65535;

/// The first one is taken where nobody chooses: limits of an H100, and so few multiprocessors that grids are small.
inline constexpr DeviceProfile kDeviceProfiles[] = {
    {"small", "emulated device", 90, 3, 1024, 228, 2048, 32},
    {"sm_75", "emulated T4", 75, 40, 4096, 64, 1024, 16},
    {"sm_80", "emulated A100", 80, 108, 40960, 164, 2048, 32},
    {"sm_86", "emulated A10", 86, 72, 6144, 100, 1536, 16},
    {"sm_89", "emulated L4", 89, 58, 49152, 100, 1536, 24},
    {"sm_90", "emulated H100", 90, 132, 51200, 228, 2048, 32},
    {"sm_100", "emulated B200", 100, 148, 129024, 228, 2048, 32},
    {"sm_120", "emulated RTX 5090", 120, 170, 98304, 100, 1536, 24},
};

/// The most of all of them.
inline constexpr int kSharedOfAnyBlock = 227 * 1024;

/// Null for a name that is not in the table.
inline const DeviceProfile* deviceProfileOf(const char* name) {
  for (const DeviceProfile& one : kDeviceProfiles)
    if (strcmp(one.name, name) == 0) return &one;
  return nullptr;
}

}  // namespace kvlab::simt
