// SPDX-License-Identifier: GPL-3.0-or-later
// The script language without Qt: QuickJS runs app/script/prelude.js over the functions of `host`, and then scripts.
// Owned by one thread, which alone calls it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

class ScriptEngine {
 public:
  /// A function of `host`: arguments come as texts, and nothing is an answer, too. An exception
  /// becomes an InternalError of the script.
  using Answer = std::variant<std::monostate, double, std::string>;
  using Native = std::function<Answer(const std::vector<std::string>& args)>;
  struct Named {
    const char* name;
    Native call;
  };

  explicit ScriptEngine(std::vector<Named> natives);
  ~ScriptEngine();
  ScriptEngine(const ScriptEngine&) = delete;
  ScriptEngine& operator=(const ScriptEngine&) = delete;

  /// Runs the text inside a function and gives what it returned, as log() prints it; empty = nothing. Errors: those
  /// that a call of the script threw, with `what` as it was; script_error, "FILE:LINE: Name: message".
  Result<std::string> run(std::string_view text, const std::string& file);

 private:
  struct Parts;
  std::unique_ptr<Parts> m;
};

}  // namespace kvlab
