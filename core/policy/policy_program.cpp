// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy_program.h"

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
#include "core/policy/policy.h"

extern char** environ;

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

struct Message {
  json told;
  std::string values;

  template <class T>
  void add(const char* name, const char* dtype, std::span<const T> list, std::vector<std::size_t> shape) {
    told["arrays"].push_back({name, dtype, std::move(shape)});
    values.append(reinterpret_cast<const char*>(list.data()), list.size_bytes());
  }
};

/// A child and the socket to it.
class PolicyChild {
 public:
  static Result<std::unique_ptr<PolicyChild>> start(const std::string& file);
  ~PolicyChild() {
    if (m_socket >= 0) ::close(m_socket);
    if (m_process > 0) ::waitpid(m_process, nullptr, 0);
  }
  PolicyChild(const PolicyChild&) = delete;
  PolicyChild& operator=(const PolicyChild&) = delete;

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
  explicit PolicyChild(std::string file) : m_file(std::move(file)) {}

  Error ended(const std::string& why) const {
    return Error("bad_policy", "the policies of " + m_file + " were not asked", why,
                 "start the program again; its messages stand on the terminal", "policy", m_file);
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

Result<std::unique_ptr<PolicyChild>> PolicyChild::start(const std::string& file) {
  std::unique_ptr<PolicyChild> out(new PolicyChild(file));
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
  std::vector<std::string> words{python, "-m", "kvlab.policy_program", file, std::to_string(kOfChild)},
      environment = environmentOfChild();
  const int failed = ::posix_spawnp(&out->m_process, python.c_str(), &actions, nullptr, pointers(words).data(),
                                    pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed) {
    out->m_process = 0;
    return Error("bad_policy", "the policies of " + file + " were not added", python + ": " + std::strerror(failed),
                 "install Python, or name an interpreter in KVLAB_PYTHON", "policy", file);
  }
  return out;
}

Error wrongAnswer(const std::string& name, const std::string& why) {
  return Error("bad_policy", "the policy " + name + " failed", why, "mend it and start the program again", "policy",
               name);
}

Message questionOf(const PolicySpec& spec, const LayerRows& rows, const char* what) {
  Message out;
  out.told = {{"policy", spec.name},          {"what", what},
              {"layer", rows.layer.value()},  {"heads", rows.heads},
              {"kv_heads", rows.kvHeads},     {"head_dim", rows.headDim},
              {"next_phase", rows.nextPhase}, {"sinks", spec.sinks},
              {"window", spec.window},        {"options", spec.options.is_object() ? spec.options : json::object()},
              {"arrays", json::array()}};
  static_assert(sizeof(LedgerId) == 4);
  out.add("ledger", "i4", rows.ledger, {rows.rows()});
  out.add("memory", "u1", std::span(rows.memory), {rows.memory.size()});
  visitStatistics(rows, [&out](const char* name, auto list, std::initializer_list<std::size_t> shape) {
    out.add(name, sizeof(list[0]) == sizeof(float) ? "f4" : "f8", list, shape);
  });
  return out;
}

/// The values of an answer.
Result<std::string> answered(PolicyChild& child, const PolicySpec& spec, const LayerRows& rows, const char* what) {
  Message answer = KV_TRY(child.ask(questionOf(spec, rows, what)));
  if (const std::string why = memberOr(answer.told, "error", std::string()); !why.empty())
    return wrongAnswer(spec.name, why);
  return std::move(answer.values);
}

Policy ruleOf(const std::shared_ptr<PolicyChild>& child, unsigned needs, bool observes) {
  Policy out{.needs = needs};
  out.scores = [child](const PolicySpec& spec, const LayerRows& rows) -> Result<std::vector<float>> {
    const std::string values = KV_TRY(answered(*child, spec, rows, "score"));
    std::vector<float> scores(values.size() / sizeof(float));
    std::memcpy(scores.data(), values.data(), scores.size() * sizeof(float));
    if (scores.size() == rows.rows() || scores.size() == rows.rows() * at(rows.kvHeads)) return scores;
    return wrongAnswer(spec.name, "score gave " + std::to_string(scores.size()) + " numbers");
  };
  if (observes)
    out.observes = [child](const PolicySpec& spec, const LayerRows& rows) {
      return answered(*child, spec, rows, "observe");
    };
  return out;
}

}  // namespace

Result<std::vector<std::string>> addPolicyFile(const std::string& file) {
  if (std::error_code none; !std::filesystem::is_regular_file(file, none))
    return Error("bad_policy", "the policies of " + file + " were not added", "there is no such file",
                 "name a Python file with @kvlab.policy in it", "policy", file);
  const std::shared_ptr<PolicyChild> child = KV_TRY(PolicyChild::start(file));
  const Result<Message> first = child->receive();
  const std::string why = first ? memberOr(first->told, "error", std::string())
                                : "its Python ended at once: it needs the package kvlab, and KVLAB_PYTHON may name one "
                                  "that has it";
  if (!why.empty())
    return Error("bad_policy", "the policies of " + file + " were not added", why, "mend the file, and start again",
                 "policy", file);
  std::vector<std::string> out;
  for (const json& one : member(first->told, "policies")) {
    out.push_back(memberOr(one, "name", std::string()));
    const unsigned needs = KV_TRY(statisticsNamed(out.back(), member(one, "needs")));
    Policy rule = ruleOf(child, needs, memberOr(one, "observes", false));
    rule.revision = memberOr(one, "revision", std::string());
    KV_TRY(addPolicy(out.back(), memberOr(one, "help", std::string()), member(one, "options"), std::move(rule)));
  }
  if (!out.empty()) return out;
  return Error("bad_policy", "the policies of " + file + " were not added", "it has none",
               "put @kvlab.policy in front of a class", "policy", file);
}

}  // namespace kvlab
