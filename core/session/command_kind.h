// SPDX-License-Identifier: Apache-2.0
// The sort of a verb's commits, and the words for them. A value.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/api/verb.h"

namespace kvlab {

class EditWords;

struct CommandKind {
  EditSort sort = EditSort::Edit;
  /// The edit in words; null = the pending actions, or else the verb's name. "" = the command only generates.
  std::string (*says)(const nlohmann::json& args, const EditWords& words) = nullptr;
};

}  // namespace kvlab
