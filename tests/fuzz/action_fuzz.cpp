// SPDX-License-Identifier: Apache-2.0
// Input: a list of actions. An accepted list is the same after writing and reading again.
#include "core/api/action.h"

#include "core/model/files/strict_json.h"
#include "fuzz.h"

using namespace kvlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = parseJson(fuzz::text(data, size), "f", "bad_action");
  if (!json) return 0;
  const auto actions = actionsFromJson(*json);
  if (!actions) {
    fuzz::checkError(actions.error());
    return 0;
  }
  auto list = nlohmann::json::array();
  for (const Action& action : *actions) list.push_back(toJson(action));
  const auto again = actionsFromJson(list);
  fuzz::require(static_cast<bool>(again) && again->size() == actions->size(), "not read again");
  for (std::size_t i = 0; i < list.size(); ++i) fuzz::require(toJson((*again)[i]) == list[i], "another action");
  return 0;
}
