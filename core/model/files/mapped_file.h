// SPDX-License-Identifier: Apache-2.0
// A file mapped read-only, unmapped with its last owner. Immutable; any thread.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/api/error.h"

namespace kvlab {

class MappedFile {
 public:
  /// Errors (code bad_file): missing, not a regular file, unreadable. An empty file maps to no
  /// bytes.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return m_bytes; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : m_bytes(bytes) {}
  std::span<const std::byte> m_bytes;
};

}  // namespace kvlab
