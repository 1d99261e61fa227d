// SPDX-License-Identifier: GPL-3.0-or-later
// What the person can choose in a view, by name: scripts set it (view.set), layouts keep it, the console says it after
// a click. Most options are a control and its words; the others are two functions. Owned by their view. GUI thread.
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
  /// What to give instead, as "use true or false"; empty if the value was taken.
  std::function<std::string(const nlohmann::json& value)> set;
};

using Changed = std::function<void()>;

/// The words stand for the items of the control, in their order. `changed` runs after the control has a new value.
ViewOption choiceOption(std::string name, std::vector<std::string> words, QComboBox* control, Changed changed);
ViewOption switchOption(std::string name, QAbstractButton* control, Changed changed);
/// The control says itself when its text has changed.
ViewOption textOption(std::string name, QLineEdit* control);

/// "use a, b or c".
std::string useOneOf(const std::vector<std::string>& words);

}  // namespace kvlab
