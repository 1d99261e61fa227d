// SPDX-License-Identifier: GPL-3.0-or-later
// A folder for files that nobody keeps, gone with its owner. One owner; any thread.
#pragma once
#include <string>

namespace kvlab {

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  /// Empty: none could be made.
  const std::string& path() const { return m_path; }

 private:
  std::string m_path;
};

}  // namespace kvlab
