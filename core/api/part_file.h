// SPDX-License-Identifier: Apache-2.0
// The one writer of files. A file is there whole or not at all: written beside the target, flushed to the disk, then
// renamed over it; gone again unless it is published. It writes into the file that a name points to:
//   symbolic link   stays, and the file that it points to is replaced or made
//   regular file    keeps its permissions, and its owner where the process may give it; a file without the right to
//                   write is refused. A hard link is parted from the other names of its file
//   device, FIFO, socket of a shell (/dev/stdout, /dev/fd/N)   takes the bytes as they come, and stays what it is
// A FIFO without a reader is refused, and so is a FIFO whose reader takes nothing for ten seconds.
// Journals, which grow for as long as they are used, have a rule of their own: takeOver() gives them the file that was
// published, and each record is one append (core/files/capture.h, core/experiment/sweep_journal.h). One owner; any
// thread.
#pragma once
#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

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

  const std::string& path() const { return m_path; }
  /// False once the file cannot be written; publish() then says why.
  bool append(const void* data, std::size_t size);
  /// Flushes and closes the file, which then can only be published.
  bool finish();
  /// Error (code bad_file): the file could not be written, flushed or renamed; the old one is still there.
  Status publish();
  /// After publish(): the open file, at its end. The caller closes it.
  int takeOver();

 private:
  void open();
  void openPart();
  void openStream(int number);
  bool fail(int number);
  bool flush();

  std::string m_path, m_target, m_part;  // m_part: empty for a stream
  struct stat m_old = {};                // status of the present target file; st_nlink 0 = there is none
  int m_file = -1;
  int m_errno = 0;  // errno of the first failure
  bool m_done = false;
};

/// A whole file at once. Error: bad_file.
Status writeWhole(const std::string& path, std::string_view bytes);

}  // namespace kvlab
