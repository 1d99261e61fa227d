// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/part_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace kvlab {

PartFile::PartFile(const std::string& path) : m_path(path), m_part(path + ".part-" + std::to_string(::getpid())) {
  m_file = ::open(m_part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (m_file < 0) m_errno = errno;
}

PartFile::~PartFile() {
  if (m_file < 0) return;
  ::close(m_file);
  if (!m_done) ::unlink(m_part.c_str());
}

bool PartFile::append(const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (m_errno == 0 && size > 0) {
    const ssize_t n = ::write(m_file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      m_errno = n < 0 ? errno : EIO;
      break;
    }
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return m_errno == 0;
}

Status PartFile::publish() {
  if (m_errno == 0 && (::fsync(m_file) != 0 || ::rename(m_part.c_str(), m_path.c_str()) != 0)) m_errno = errno;
  if (m_errno != 0)
    return Error("bad_file", "cannot write " + m_path, std::strerror(m_errno),
                 "check the folder, its permissions and the free space");
  m_done = true;
  syncFolderOf(m_path);
  return ok();
}

void syncFolderOf(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace kvlab
