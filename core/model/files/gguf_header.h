// SPDX-License-Identifier: Apache-2.0
// The header of one GGUF file: little endian, version 2 or 3. A file is: "GGUF", u32 version, u64 tensors, u64 keys;
// per key a name, the kind of its value, the value; per tensor a name, dimensions (fastest first), type, offset; then,
// at the next multiple of the alignment, data. Every claim is checked before a value or a tensor is handed out. Errors
// (code bad_model) name file, byte, key or tensor, and the remedy. Borrows the bytes; any thread.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/model/files/gguf_types.h"

namespace kvlab {

struct GgufHeader {
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  GgufValues values = {};
  std::vector<GgufTensor> tensors = {};  // in file order

  /// `file` names the bytes in errors.
  static Result<GgufHeader> parse(std::span<const std::byte> bytes, const std::string& file);
};

}  // namespace kvlab
