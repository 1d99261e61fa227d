// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/view_options.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QLineEdit>
#include <algorithm>

namespace kvlab {

std::string useOneOf(const std::vector<std::string>& words) {
  std::string out = "use ";
  for (std::size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  return out;
}

ViewOption choiceOption(std::string name, std::vector<std::string> words, QComboBox* control, Changed changed) {
  const auto get = [words, control] { return words[static_cast<std::size_t>(std::max(0, control->currentIndex()))]; };
  const auto set = [words, control, changed](const nlohmann::json& value) -> std::string {
    const auto found = std::find(words.begin(), words.end(), value);
    if (found == words.end()) return useOneOf(words);
    control->setCurrentIndex(static_cast<int>(found - words.begin()));
    changed();
    return {};
  };
  return {std::move(name), get, set};
}

ViewOption switchOption(std::string name, QAbstractButton* control, Changed changed) {
  const auto set = [control, changed](const nlohmann::json& value) -> std::string {
    if (!value.is_boolean()) return useOneOf({"true", "false"});
    control->setChecked(value.get<bool>());
    changed();
    return {};
  };
  return {std::move(name), [control] { return control->isChecked(); }, set};
}

ViewOption textOption(std::string name, QLineEdit* control) {
  const auto set = [control](const nlohmann::json& value) -> std::string {
    if (!value.is_string()) return "give a text";
    control->setText(QString::fromStdString(value.get<std::string>()));
    return {};
  };
  return {std::move(name), [control] { return control->text().toStdString(); }, set};
}

}  // namespace kvlab
