// SPDX-License-Identifier: Apache-2.0
// A model in GGUF format, read in place: one file, or the files of NAME-00001-of-00003.gguf, which each hold a part of
// the tensors. Opening reads the headers alone. Errors (code bad_model, of the file system bad_file) name file, place
// and remedy. A file that another process shortens while it is mapped cannot be guarded against. Immutable after
// opening; any thread.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/model/files/gguf_keys.h"
#include "core/model/files/gguf_types.h"
#include "core/model/files/mapped_file.h"

namespace kvlab {

// The header of one GGUF file: little endian, version 2 or 3. A file is: "GGUF", u32 version, u64 tensors, u64 keys;
// per key a name, the kind of its value, the value; per tensor a name, dimensions (fastest first), type, offset; then,
// at the next multiple of the alignment, data. Every claim is checked before a value or a tensor is handed out. Errors
// (code bad_model) name file, byte, key or tensor, and the remedy. Borrows the bytes; any thread.

struct GgufHeader {
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  GgufValues values = {};
  std::vector<GgufTensor> tensors = {};  // in file order

  /// `file` names the bytes in errors.
  static Result<GgufHeader> parse(std::span<const std::byte> bytes, const std::string& file);
};

class Gguf : public TensorFiles<GgufTensor> {
 public:
  /// Any file of a set stands for all of them.
  static Result<Gguf> open(const std::string& path);
  /// Bytes that the caller keeps alive, of a model in one file.
  static Result<Gguf> parse(std::span<const std::byte> bytes, const std::string& file);

  /// Keys of the first file, which has every key but the numbers of the other files. Borrows this.
  GgufKeys keys() const { return {m_values, m_file}; }
  /// The first file.
  const std::string& file() const { return m_file; }

 private:
  Status take(GgufHeader&& header, const std::string& file);

  std::string m_file;
  GgufValues m_values;
};

/// The model of a folder: its only .gguf file, or the first file of its only set; projectors of images (mmproj) do not
/// count. Nothing if there is none. Errors (bad_model): several, which it names.
Result<std::optional<std::string>> ggufOfDirectory(const std::string& directory);

/// The files of the set that NAME-00002-of-00003.gguf belongs to, in order; for any other name the file alone.
std::vector<std::string> ggufShards(const std::string& path);

}  // namespace kvlab
