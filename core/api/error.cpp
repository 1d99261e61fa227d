// SPDX-License-Identifier: Apache-2.0
#include "core/api/error.h"

namespace kvlab {

std::string Error::text() const {
  std::string line = what;
  if (!why.empty()) line += ": " + why;
  if (!remedy.empty()) line += "; " + remedy;
  return line;
}

nlohmann::json Error::toJson() const {
  nlohmann::json json{{"code", code}, {"what", what}, {"why", why}, {"remedy", remedy}};
  if (action) json["action"] = *action;
  if (!field.empty()) json["field"] = field;
  if (!value.is_null()) json["value"] = value;
  return json;
}

Error Error::fromJson(const nlohmann::json& json) {
  Error error{json.value("code", ""), json.value("what", ""), json.value("why", ""), json.value("remedy", "")};
  if (json.contains("action")) error.action = json["action"].get<int>();
  error.field = json.value("field", "");
  if (json.contains("value")) error.value = json["value"];
  return error;
}

}  // namespace kvlab
