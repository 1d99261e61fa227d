// SPDX-License-Identifier: GPL-3.0-or-later
// Runs scripts in a program without a window: sessions, lanes and batches of this process, on the calling thread. Calls
// of `view` and lab.sweep are refused (unsupported). One owner, on one thread.
#pragma once
#include <functional>
#include <map>

#include "app/windowless/script_engine.h"
#include "core/api/table.h"
#include "core/lanes/session_holder.h"

namespace kvlab {

struct RunnerSettings {
  nlohmann::json manifest = nlohmann::json::object();  // defaults of lab.open
  std::vector<std::string> args = {};                  // the global `args`
  std::string resources = {};
  std::string out = {};  // folder for relative output paths; empty = current folder
  std::function<void(const std::string&)> log = {};
};

class ScriptRunner {
 public:
  explicit ScriptRunner(RunnerSettings settings);

  /// Errors: unreadable_file, and those of ScriptEngine::run.
  Result<std::string> runFile(const std::string& path);
  Result<std::string> runText(std::string_view text, const std::string& file) { return m_engine.run(text, file); }

 private:
  using Args = std::vector<std::string>;
  using Json = nlohmann::json;
  std::vector<ScriptEngine::Named> natives();
  Result<SessionHolder*> holderOf(const std::string& handle);
  int added(std::unique_ptr<SessionHolder> holder);
  Result<Json> call(const Args& args);
  Result<Json> open(const Args& args);
  Result<std::unique_ptr<Session>> opened(const Json& request) const;
  Result<Json> fork(const Args& args);
  Result<Json> close(const Args& args);

  RunnerSettings m_settings;
  Schema m_schema;
  std::map<int, std::unique_ptr<SessionHolder>> m_holders;  // by handle
  int m_nextHandle = 1;
  int m_current = 0;  // the one that a window would show; 0 = none
  ScriptEngine m_engine;
};

}  // namespace kvlab
