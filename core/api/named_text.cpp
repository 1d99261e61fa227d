// SPDX-License-Identifier: Apache-2.0
#include "core/api/named_text.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr const char* kRemedy = "write NAME:key=value,key=value";

Error bad(std::string why) { return Error("", "", std::move(why), kRemedy); }

json valueOf(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : json(text);
}

}  // namespace

Result<json> namedObject(const json& given) {
  if (given.is_object()) return given;
  if (!given.is_string()) return bad("it is neither a text nor an object");
  const std::string text = given.get<std::string>();
  const std::size_t colon = text.find(':');
  if (colon == 0 || text.empty()) return bad("the name is missing");
  json out{{"name", text.substr(0, colon)}};
  for (std::size_t at = colon; at != std::string::npos;) {
    const std::size_t next = text.find(',', at + 1);
    const std::string part = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) return bad("\"" + part + "\" is not key=value");
    out[part.substr(0, equals)] = valueOf(part.substr(equals + 1));
    at = next;
  }
  return out;
}

}  // namespace kvlab
