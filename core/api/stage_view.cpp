// SPDX-License-Identifier: Apache-2.0
#include "core/api/stage_view.h"

namespace kvlab {

nlohmann::json toJson(const StageView& view) {
  const auto numbers = [](const auto& ids) {
    nlohmann::json out = nlohmann::json::array();
    for (const auto id : ids) out.push_back(id.value());
    return out;
  };
  nlohmann::json actions = nlohmann::json::array();
  for (const Action& action : view.actions) actions.push_back(toJson(action));
  return {{"stage", name(view.stage)}, {"next", view.next}, {"tokens", numbers(view.tokens)},  {"actions", actions},
          {"shown", view.shown},       {"of", view.of},     {"context", numbers(view.context)}};
}

}  // namespace kvlab
