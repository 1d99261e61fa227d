// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/ending.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "core/api/part_file.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string jsonText(const json& content) { return content.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

Status flushed() {
  if (std::cout.flush() && std::fflush(stdout) == 0) return ok();
  return Error("io", "the output was not written", std::strerror(errno), "make room, or send it elsewhere");
}

/// Writes to standard output, or to a file.
Status writeValue(const json& value, const std::string& path) {
  if (!path.empty()) return saveJson(path, value);
  std::cout << jsonText(value);
  return ok();  // flushed() says whether it was written
}

}  // namespace

Ending::Ending(json made, Exit code) : value(std::move(made)), exit(code) {}

Ending::Ending(const Error& error) : Ending(json::object(), exitFor(error), error) {}

Ending::Ending(json made, Exit code, const Error& error) : value(std::move(made)), exit(code), line(errorLine(error)) {
  value["error"] = error.toJson();
}

KeptOutput::KeptOutput(bool keep) {
  if (!keep) return;
  std::fflush(stdout);
  m_output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (m_output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return;
  const int nowhere = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // standard error is closed: prints fail
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

KeptOutput::~KeptOutput() {
  if (m_output < 0) return;
  std::cout.flush();
  std::fflush(stdout);
  ::dup2(m_output, STDOUT_FILENO);
  ::close(m_output);
  std::cout.clear();  // what standard error did not take says nothing about this output
  std::clearerr(stdout);
}

Status saveJson(const std::string& path, const json& content) {
  const Status written = writeWhole(path, jsonText(content));
  if (written) return ok();
  return Error("io", path + " was not written", written.error().why, "choose a folder that can be written to", "path",
               path);
}

int finish(const Ending& ending, const std::optional<std::string>& where) {
  Exit code = ending.exit;
  if (!ending.line.empty()) std::cerr << ending.line << std::endl;
  const auto check = [&code](const Status& written) {
    if (written) return;
    std::cerr << errorLine(written.error()) << std::endl;
    if (code == Exit::Ok) code = exitFor(written.error());
  };
  if (where) check(writeValue(ending.value, *where));
  check(flushed());
  return static_cast<int>(code);
}

}  // namespace kvlab
