// SPDX-License-Identifier: GPL-3.0-or-later
// The user's choices in a view, by name: scripts set them (view.set), layouts save them, the console shows them after a
// click. Most options are a control with words; the rest are two functions. Owned by their view. GUI thread.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kvlab {

struct ViewOption {
  std::string name;
  std::function<nlohmann::json()> get;
  /// Sets the value. Returns the allowed values, such as "use true or false"; empty if the value was accepted.
  std::function<std::string(const nlohmann::json& value)> set;
};

using Changed = std::function<void()>;

/// "use a, b or c".
inline std::string useOneOf(const std::vector<std::string>& words) {
  std::string out = "use ";
  for (std::size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  return out;
}

}  // namespace kvlab
