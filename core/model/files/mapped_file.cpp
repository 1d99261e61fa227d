// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kvlab {
namespace {

Error cannotOpen(const std::string& path, const std::string& why) {
  return {"bad_file", "cannot open " + path, why, "check the path and its permissions"};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return cannotOpen(path, std::strerror(errno));
  struct stat info {};
  const bool regular = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  const auto size = regular ? static_cast<std::size_t>(info.st_size) : 0;
  void* mapped = size ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  const int failure = errno;
  ::close(file);
  if (!regular) return cannotOpen(path, "not a regular file");
  if (mapped == MAP_FAILED) return cannotOpen(path, std::strerror(failure));
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(mapped), size}));
}

MappedFile::~MappedFile() {
  if (!m_bytes.empty()) ::munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

}  // namespace kvlab
