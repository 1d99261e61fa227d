// SPDX-License-Identifier: Apache-2.0
// JSON of values whose fields are called as their members are.
#pragma once
#include <nlohmann/json.hpp>

/// {"a": value.a, "b": value.b}: KV_MEMBERS(value, a, b).
#define KV_MEMBERS(value, ...)                                                   \
  ([](const auto& members) {                                                     \
    nlohmann::json named = nlohmann::json::object();                             \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(KV_MEMBER_OF_MEMBERS, __VA_ARGS__)) \
    return named;                                                                \
  }(value))
#define KV_MEMBER_OF_MEMBERS(name) named[#name] = members.name;
