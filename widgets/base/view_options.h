// SPDX-License-Identifier: GPL-3.0-or-later
// The user's choices in a view, by name: scripts set them (view.set), layouts save them, the console shows them after a
// click. Most options are a control with words; the rest are two functions. Owned by their view. GUI thread.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

class QAbstractButton;
class QComboBox;
class QLineEdit;

namespace kvlab {

struct ViewOption {
  std::string name;
  std::function<nlohmann::json()> get;
  /// Sets the value. Returns the allowed values, such as "use true or false"; empty if the value was accepted.
  std::function<std::string(const nlohmann::json& value)> set;
};

using Changed = std::function<void()>;

/// words: names of the control's items, in order. `changed` runs after the control has a new value.
ViewOption choiceOption(std::string name, std::vector<std::string> words, QComboBox* control, Changed changed);
ViewOption switchOption(std::string name, QAbstractButton* control, Changed changed);
/// A line edit; the control signals its own changes.
ViewOption textOption(std::string name, QLineEdit* control);

/// "use a, b or c".
std::string useOneOf(const std::vector<std::string>& words);

}  // namespace kvlab
