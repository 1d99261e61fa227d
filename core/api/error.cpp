// SPDX-License-Identifier: Apache-2.0
#include "core/api/error.h"

#include "core/api/read_json.h"

namespace kvlab {

Error::Error(std::string name, std::string refused, std::string cause, std::string next, std::string key,
             nlohmann::json given)
    : code(std::move(name)),
      what(std::move(refused)),
      why(std::move(cause)),
      remedy(std::move(next)),
      field(std::move(key)),
      value(std::move(given)) {}

Error::Error(std::string name, std::string refused, std::string cause, std::string next, std::optional<int> place,
             std::string key, nlohmann::json given)
    : Error(std::move(name), std::move(refused), std::move(cause), std::move(next), std::move(key), std::move(given)) {
  action = place;
}

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
  const auto text = [&](const char* key) { return memberOr(json, key, std::string()); };
  Error error(text("code"), text("what"), text("why"), text("remedy"));
  if (const nlohmann::json& place = member(json, "action"); place.is_number()) error.action = jsonOr(place, -1);
  error.field = text("field");
  error.value = member(json, "value");
  return error;
}

std::span<const ErrorCode> errorCodes() {
  static constexpr ErrorCode kCodes[] = {
#define KVLAB_ERROR(code, meaning) {code, meaning},
#include "core/api/error_codes.inc"
#undef KVLAB_ERROR
  };
  return kCodes;
}

}  // namespace kvlab
