// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written beside its path, flushed to the disk, then
// renamed over it. Gone again unless it is published. One owner; any thread.
#pragma once
#include <cstddef>
#include <string>

#include "core/api/error.h"

namespace kvlab {

/// A new name in a folder survives a power cut only once the folder is on the disk; best effort.
void syncFolderOf(const std::string& path);

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
  std::string m_path, m_part;
  int m_file = -1;
  int m_errno = 0;  // of the first failure
  bool m_done = false;
};

}  // namespace kvlab
