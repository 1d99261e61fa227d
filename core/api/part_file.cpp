// SPDX-License-Identifier: Apache-2.0
#include "core/api/part_file.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

namespace kvlab {
namespace {

constexpr int kMostLinks = 40, kPatienceMs = 10'000;

/// The target of a symbolic link; empty = the path is no symbolic link.
std::string linkTarget(const std::string& path) {
  std::string out(4096, '\0');
  const ssize_t size = ::readlink(path.c_str(), out.data(), out.size());
  return size < 0 ? std::string() : out.substr(0, static_cast<std::size_t>(size));
}

/// The name behind all links, whether a file is there or not; empty = the links go in a circle.
std::string behindLinks(std::string path) {
  for (int links = 0; links < kMostLinks; ++links) {
    const std::string to = linkTarget(path);
    if (to.empty()) return path;
    path = to.front() == '/' ? to : (std::filesystem::path(path).parent_path() / to).string();
  }
  return {};
}

/// The number of the open file that a name stands for, as /dev/stdout and /dev/fd/2 do; -1 = none.
int openFileOf(std::string path) {
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/fd/";
  for (int links = 0; links < kMostLinks && !path.empty(); ++links) {
    for (const std::string& folder : {std::string("/dev/fd/"), std::string("/proc/self/fd/"), own}) {
      if (!path.starts_with(folder)) continue;
      int number = -1;
      const char* end = path.data() + path.size();
      if (std::from_chars(path.data() + folder.size(), end, number).ptr == end) return number;
    }
    const std::string to = linkTarget(path);
    path = to.empty() || to.front() == '/' ? to : (std::filesystem::path(path).parent_path() / to).string();
  }
  return -1;
}

/// A name of this process's own, in the folder of the target.
std::string partName(const std::string& target) {
  static std::atomic<int> count{0};
  const auto folder = std::filesystem::path(target).parent_path();
  return (folder / (".kvlab-part-" + std::to_string(::getpid()) + "-" + std::to_string(++count))).string();
}

/// Writes without the signal that ends a program whose reader has gone; -1 and errno on failure.
ssize_t writeQuietly(int file, const void* data, std::size_t size) {
  sigset_t pipe, before;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t n = ::write(file, data, size);
  const int why = errno;
  constexpr timespec kNow{0, 0};
  if (n < 0 && why == EPIPE && ::sigismember(&before, SIGPIPE) == 0) ::sigtimedwait(&pipe, nullptr, &kNow);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = why;
  return n;
}

bool becomesReady(int file) {
  pollfd one{file, POLLOUT, 0};
  return ::poll(&one, 1, kPatienceMs) != 0;
}

std::string reason(int number) {
  if (number == ENXIO) return "nobody reads the pipe";
  if (number == ETIMEDOUT) return "its reader takes nothing";
  return std::strerror(number);
}

}  // namespace

PartFile::PartFile(const std::string& path) : m_path(path) { open(); }

PartFile::~PartFile() {
  if (m_file >= 0) ::close(m_file);
  if (!m_done && !m_part.empty()) ::unlink(m_part.c_str());
}

bool PartFile::fail(int number) {
  if (m_errno == 0) m_errno = number;
  return false;
}

void PartFile::open() {
  if (m_path.empty() || m_path.find('\0') != std::string::npos) return (void)fail(EINVAL);
  struct stat there {};
  if (::stat(m_path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) return (void)fail(EISDIR);
    const int number = openFileOf(m_path);
    if (!S_ISREG(there.st_mode) || number >= 0) return openStream(number);
    m_old = there;
  } else if (errno != ENOENT) {
    return (void)fail(errno);
  }
  openPart();
}

/// An open file goes on where whoever has opened it stands.
void PartFile::openStream(int number) {
  m_file = number >= 0 ? ::fcntl(number, F_DUPFD_CLOEXEC, 0)
                       : ::open(m_path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (m_file < 0) fail(errno);
}

void PartFile::openPart() {
  m_target = behindLinks(m_path);
  if (m_target.empty()) return (void)fail(ELOOP);
  if (m_old.st_nlink > 0 && ::access(m_target.c_str(), W_OK) != 0) return (void)fail(errno);
  for (int tries = 0; m_file < 0 && tries < 100; ++tries) {  // a program of the same number may have left one
    m_part = partName(m_target);
    m_file = ::open(m_part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (m_file < 0 && errno != EEXIST) break;
  }
  if (m_file < 0) return m_part.clear(), (void)fail(errno);
  if (m_old.st_nlink == 0) return;
  const auto anyUser = static_cast<uid_t>(-1);
  if (::fchown(m_file, m_old.st_uid, m_old.st_gid) != 0 && ::fchown(m_file, anyUser, m_old.st_gid) != 0)
    m_old.st_mode &= 0707u;  // another group gets no rights of the old one's
  if (::fchmod(m_file, m_old.st_mode & 07777u) != 0) fail(errno);
}

bool PartFile::append(const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (m_errno == 0 && size > 0) {
    const ssize_t n = writeQuietly(m_file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      if (!becomesReady(m_file)) fail(ETIMEDOUT);
      continue;
    }
    if (n <= 0) return fail(n < 0 ? errno : EIO);
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return m_errno == 0;
}

/// A device need not know what flushing is.
bool PartFile::flush() {
  if (m_errno == 0 && m_file >= 0 && !m_part.empty() && ::fsync(m_file) != 0) fail(errno);
  return m_errno == 0;
}

bool PartFile::finish() {
  flush();
  if (m_file >= 0 && ::close(std::exchange(m_file, -1)) != 0) fail(errno);
  return m_errno == 0;
}

Status PartFile::publish() {
  if (flush() && !m_part.empty() && ::rename(m_part.c_str(), m_target.c_str()) != 0) fail(errno);
  if (m_errno != 0)
    return Error("bad_file", "cannot write " + m_path, reason(m_errno),
                 "check the folder, its permissions and the free space");
  m_done = true;
  if (!m_part.empty()) syncFolderOf(m_target);
  return ok();
}

int PartFile::takeOver() { return std::exchange(m_file, -1); }

void syncFolderOf(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

Status writeWhole(const std::string& path, std::string_view bytes) {
  PartFile file(path);
  (void)file.append(bytes.data(), bytes.size());
  return file.publish();
}

}  // namespace kvlab
