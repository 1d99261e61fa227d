// SPDX-License-Identifier: Apache-2.0
// Hashes that identify a model, and the bytes of a file that a command has read. XXH3-64 as 16 lower-case hexadecimal
// digits. Any thread.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "core/model/model.h"

namespace kvlab {

/// Hashes the configuration and up to 3 x 16 KiB of every weight tensor (start, middle, end). This distinguishes
/// checkpoints without reading gigabytes.
std::string modelFingerprint(const Model& model);

std::string contentHash(std::span<const std::byte> bytes);

}  // namespace kvlab
