// SPDX-License-Identifier: Apache-2.0
// Values as JSON and numbers in sentences. Any thread.
#pragma once
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace kvlab {

/// JSON has no infinities and no not-a-number: null.
inline nlohmann::json finite(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

template <class List>
nlohmann::json finiteList(const List& values) {
  nlohmann::json out = nlohmann::json::array();
  for (const double value : values) out.push_back(finite(value));
  return out;
}

/// A list of values, each as toJson() writes it.
template <class List>
nlohmann::json listJson(const List& values) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& value : values) out.push_back(toJson(value));
  return out;
}

/// Null where there is no value.
template <class Value>
nlohmann::json orNull(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

/// "0.012", "not a number", "-infinity": the C library would write "-nan".
inline std::string numberWords(double value, int digits = 2) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  std::array<char, 40> out{};
  std::snprintf(out.data(), out.size(), "%.*g", digits, value);
  return out.data();
}

}  // namespace kvlab

/// JSON of a value whose fields are called as its members are:
/// {"a": value.a, "b": value.b}: KV_MEMBERS(value, a, b).
#define KV_MEMBERS(value, ...)                                                   \
  ([](const auto& members) {                                                     \
    nlohmann::json named = nlohmann::json::object();                             \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(KV_MEMBER_OF_MEMBERS, __VA_ARGS__)) \
    return named;                                                                \
  }(value))
#define KV_MEMBER_OF_MEMBERS(name) named[#name] = members.name;
