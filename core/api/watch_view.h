// SPDX-License-Identifier: Apache-2.0
// View of a watch for readers: an expression, and its value in the state of the snapshot. A value; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

namespace kvlab {

struct WatchView {
  int id = 0;
  std::string expression;                                              // in the language of core/watch/expression.h
  std::variant<std::monostate, double, bool, std::string> value = {};  // monostate = not known

  bool operator==(const WatchView&) const = default;
};
nlohmann::json toJson(const WatchView& watch);

}  // namespace kvlab
