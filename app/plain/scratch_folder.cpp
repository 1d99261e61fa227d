// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/scratch_folder.h"

#include <cstdlib>
#include <filesystem>

namespace kvlab {

ScratchFolder::ScratchFolder() {
  std::error_code failure;
  std::string name = (std::filesystem::temp_directory_path(failure) / "kvlab-XXXXXX").string();
  if (!failure && ::mkdtemp(name.data())) m_path = std::move(name);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!m_path.empty()) std::filesystem::remove_all(m_path, ignored);
}

}  // namespace kvlab
