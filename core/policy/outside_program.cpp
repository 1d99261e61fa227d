// SPDX-License-Identifier: Apache-2.0
#include "core/policy/outside_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>

#include "core/api/read_json.h"
#include "core/api/texts.h"
#include "core/policy/outside.h"

extern char** environ;

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

struct Message {
  json told;
  std::string values;
};

Message messageOf(const AddedQuestion& question) {
  Message out{question.told, {}};
  out.told["arrays"] = json::array();
  for (const AddedQuestion::List& one : question.lists) {
    out.told["arrays"].push_back({one.name, one.dtype, one.shape});
    out.values.append(reinterpret_cast<const char*>(one.bytes.data()), one.bytes.size());
  }
  return out;
}

/// A child and the socket to it.
class RuleChild {
 public:
  static Result<std::unique_ptr<RuleChild>> start(const std::string& file);
  ~RuleChild() {
    if (m_socket >= 0) ::close(m_socket);
    if (m_process > 0) ::waitpid(m_process, nullptr, 0);
  }
  RuleChild(const RuleChild&) = delete;
  RuleChild& operator=(const RuleChild&) = delete;

  Result<Message> ask(const Message& question) {
    const std::lock_guard lock(m_mutex);
    const std::string text = question.told.dump();
    const auto length = static_cast<std::uint32_t>(text.size());
    const std::uint64_t bytes = question.values.size();
    std::string head(12, '\0');
    std::memcpy(head.data(), &length, 4);
    std::memcpy(head.data() + 4, &bytes, 8);
    KV_TRY(send(head));
    KV_TRY(send(text));
    KV_TRY(send(question.values));
    return receive();
  }

  /// The next message of the child.
  Result<Message> receive() {
    std::string head(12, '\0');
    KV_TRY(read(head));
    std::uint32_t length = 0;
    std::uint64_t bytes = 0;
    std::memcpy(&length, head.data(), 4);
    std::memcpy(&bytes, head.data() + 4, 8);
    if (bytes > kMostBytes) return ended("its answer has no end");
    std::string text(length, '\0');
    Message out;
    KV_TRY(read(text));
    out.values.resize(bytes);
    KV_TRY(read(out.values));
    out.told = json::parse(text, nullptr, false);
    if (!out.told.is_object()) return ended("its answer cannot be read");
    return out;
  }

 private:
  explicit RuleChild(std::string file) : m_file(std::move(file)) {}

  Error ended(const std::string& why) const {
    return Error("bad_policy", "the rules of " + m_file + " were not asked", why,
                 "start the program again; its messages stand on the terminal", "file", m_file);
  }

  Status send(const std::string& part) const {
    for (std::size_t done = 0; done < part.size();) {
      const ssize_t n = ::send(m_socket, part.data() + done, part.size() - done, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return ended("their Python has ended");
      done += static_cast<std::size_t>(n);
    }
    return ok();
  }

  Status read(std::string& part) const {
    for (std::size_t done = 0; done < part.size();) {
      const ssize_t n = ::read(m_socket, part.data() + done, part.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return ended("their Python has ended");
      done += static_cast<std::size_t>(n);
    }
    return ok();
  }

  const std::string m_file;
  std::mutex m_mutex;
  int m_socket = -1;
  pid_t m_process = 0;
};

Error notAdded(const std::string& file, const std::string& why, const std::string& remedy) {
  return Error("bad_policy", "the rules of " + file + " were not added", why, remedy, "file", file);
}

/// The environment, with the Python package of a build beside the program where there is one.
std::vector<std::string> environmentOfChild() {
  std::vector<std::string> out;
  std::string paths;
  for (char** one = environ; *one; ++one)
    if (std::strncmp(*one, "PYTHONPATH=", 11) == 0) paths = *one + 11;
    else out.emplace_back(*one);
  std::error_code none;
  const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "python";
  if (std::filesystem::exists(beside / "kvlab", none)) paths = beside.string() + (paths.empty() ? "" : ":" + paths);
  if (!paths.empty()) out.push_back("PYTHONPATH=" + paths);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& one : texts) out.push_back(one.data());
  out.push_back(nullptr);
  return out;
}

Result<std::unique_ptr<RuleChild>> RuleChild::start(const std::string& file) {
  std::unique_ptr<RuleChild> out(new RuleChild(file));
  const char* const named = std::getenv("KVLAB_PYTHON");
  const std::string python = named && *named ? named : "python3";
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return out->ended(std::strerror(errno));
  out->m_socket = ends[0];
  constexpr int kOfChild = 3;  // the descriptor that the child has the socket as
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (ends[1] == kOfChild) ::fcntl(ends[1], F_SETFD, 0);
  else ::posix_spawn_file_actions_adddup2(&actions, ends[1], kOfChild);
  std::vector<std::string> words{python, "-m", "kvlab.outside_program", file, std::to_string(kOfChild)},
      environment = environmentOfChild();
  const int failed = ::posix_spawnp(&out->m_process, python.c_str(), &actions, nullptr, pointers(words).data(),
                                    pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed) {
    out->m_process = 0;
    return notAdded(file, python + ": " + std::strerror(failed),
                    "install Python, or name an interpreter in KVLAB_PYTHON");
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> addOutsideFile(const std::string& file) {
  if (std::error_code none; !std::filesystem::is_regular_file(file, none))
    return notAdded(file, "there is no such file", "name a Python file with @kvlab.policy or another rule in it");
  const std::shared_ptr<RuleChild> child = KV_TRY(RuleChild::start(file));
  const Result<Message> first = child->receive();
  const std::string why = first ? memberOr(first->told, "error", std::string())
                                : "its Python ended at once: it needs the package kvlab, and KVLAB_PYTHON may name one "
                                  "that has it";
  if (!why.empty()) return notAdded(file, why, "mend the file, and start again");
  const AskAdded ask = [child](const AddedQuestion& question) -> Result<std::string> {
    Message answer = KV_TRY(child->ask(messageOf(question)));
    const std::string failed = memberOr(answer.told, "error", std::string());
    if (!failed.empty()) return Error("bad_policy", "a rule failed", failed, "mend it");
    return std::move(answer.values);
  };
  std::vector<std::string> out;
  for (const json& one : member(first->told, "rules")) {
    KV_TRY(addOutside(one, ask));
    out.push_back(memberOr(one, "name", std::string()));
  }
  if (!out.empty()) return out;
  return notAdded(file, "it has none", "put @kvlab.policy or another rule in front of a class");
}

}  // namespace kvlab
