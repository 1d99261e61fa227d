// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace kvlab {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAskMs = 100;
constexpr std::chrono::seconds kPatience{5};

std::vector<char*> textPointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& one : texts) out.push_back(one.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> childEnvironment() {
  static constexpr std::string_view kBytecode = "PYTHONDONTWRITEBYTECODE=";
  std::vector<std::string> out;
  for (char** one = environ; *one; ++one)
    if (!std::string_view(*one).starts_with(kBytecode)) out.emplace_back(*one);
  out.push_back(std::string(kBytecode) + "1");
  return out;
}

/// A child, with the pipe of its standard output.
class Child {
 public:
  explicit Child(const ChildOrder& order) : m_order(order) {}
  ~Child() {
    if (m_pipe >= 0) ::close(m_pipe);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  bool start();
  /// The status that waitpid() gives.
  int wait();

 private:
  void stopIfAsked();
  /// Waits a moment for output, and tells the lines that are complete.
  void read(int patienceMs);
  void tell(std::string_view bytes);

  const ChildOrder& m_order;
  pid_t m_process = 0;
  int m_pipe = -1;
  std::string m_line;
  std::optional<Clock::time_point> m_told;  // when it was asked to end
};

bool Child::start() {
  int ends[2] = {-1, -1};
  if (m_order.said && ::pipe2(ends, O_CLOEXEC) != 0) return false;
  m_pipe = ends[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (m_order.said) ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (m_order.quiet) ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_RDWR, 0);
  std::vector<std::string> words{m_order.program}, environment = childEnvironment();
  words.insert(words.end(), m_order.arguments.begin(), m_order.arguments.end());
  const int failed = ::posix_spawnp(&m_process, m_order.program.c_str(), &actions, nullptr, textPointers(words).data(),
                                    textPointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (ends[1] >= 0) ::close(ends[1]);
  return failed == 0;
}

void Child::stopIfAsked() {
  if (m_told) {
    if (Clock::now() - *m_told > kPatience) ::kill(m_process, SIGKILL);
  } else if (m_order.stopped && m_order.stopped()) {
    ::kill(m_process, SIGTERM);
    m_told = Clock::now();
  }
}

void Child::tell(std::string_view bytes) {
  for (const char one : bytes) {
    if (one != '\n') m_line += one;
    else m_order.said(std::exchange(m_line, {}));
  }
}

void Child::read(int patienceMs) {
  pollfd wanted{m_pipe, POLLIN, 0};  // a negative descriptor: nothing but the pause
  if (::poll(&wanted, 1, patienceMs) <= 0 || wanted.revents == 0) return;
  char part[4096];
  const ssize_t size = ::read(m_pipe, part, sizeof part);
  if (size > 0) return tell({part, static_cast<std::size_t>(size)});
  if (size < 0 && errno == EINTR) return;
  ::close(std::exchange(m_pipe, -1));
}

int Child::wait() {
  int status = 0;
  for (pid_t ended = 0; ended == 0; ended = ::waitpid(m_process, &status, WNOHANG)) {
    stopIfAsked();
    read(kAskMs);
  }
  // What it wrote before its end; a child of its own may hold the pipe open.
  for (pollfd left{m_pipe, POLLIN, 0}; m_pipe >= 0 && ::poll(&left, 1, 0) > 0;) read(0);
  if (!m_line.empty()) m_order.said(std::exchange(m_line, {}));
  return status;
}

}  // namespace

ChildEnd runChild(const ChildOrder& order) {
  Child child(order);
  if (!child.start()) return {};
  const int status = child.wait();
  return {true, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

}  // namespace kvlab
