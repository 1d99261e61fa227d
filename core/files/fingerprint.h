// SPDX-License-Identifier: Apache-2.0
// Names for what a file must meet again: the model that rows were computed with, and the bytes of a
// file that a command read. XXH3-64 as 16 lower-case hexadecimal digits. Any thread.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "core/model/model.h"

namespace kvlab {

/// Of the configuration and of up to 3 x 16 KiB of every weight tensor (start, middle, end): enough
/// to tell two checkpoints apart without reading gigabytes.
std::string modelFingerprint(const Model& model);

std::string contentHash(std::span<const std::byte> bytes);

/// "00f1..." of a 64-bit word.
std::string hexWord(std::uint64_t word);

}  // namespace kvlab
