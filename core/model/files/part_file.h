// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written beside its path, flushed to the disk, then
// renamed over it. Gone again unless it is published. One owner; any thread.
#pragma once
#include <cstddef>
#include <string>

#include "core/api/error.h"

namespace kvlab {

class PartFile {
 public:
  explicit PartFile(const std::string& path);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  /// False once the file cannot be written; publish() then says why.
  bool append(const void* data, std::size_t size);
  /// Error (code bad_file): the file could not be written, flushed or renamed.
  Status publish();

 private:
  void syncFolder() const;

  std::string m_path, m_part;
  int m_file = -1;
  int m_errno = 0;  // of the first failure
  bool m_done = false;
};

}  // namespace kvlab
