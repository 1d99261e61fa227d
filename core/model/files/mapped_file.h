// SPDX-License-Identifier: Apache-2.0
// A file mapped read-only, unmapped with its last owner, and the tensors of such files. Immutable; any thread.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// The tensors of one file or several, by name. Keeps the files.
template <class Tensor>
class TensorFiles {
 public:
  /// Null if there is none.
  const Tensor* find(std::string_view name) const {
    const auto it = m_tensors.find(name);
    return it == m_tensors.end() ? nullptr : &it->second;
  }
  /// In order of name.
  const std::map<std::string, Tensor, std::less<>>& tensors() const { return m_tensors; }
  /// Bytes of all tensors.
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [name, tensor] : m_tensors) sum += static_cast<std::int64_t>(tensor.bytes.size());
    return sum;
  }

 protected:
  std::map<std::string, Tensor, std::less<>> m_tensors;
  std::vector<std::shared_ptr<const MappedFile>> m_files;
};

}  // namespace kvlab
