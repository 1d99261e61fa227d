// SPDX-License-Identifier: GPL-3.0-or-later
// Reads long columns of numbers in a reply of the engine, as numbers or packed as bytes. Pure; throws as JSON does.
#pragma once
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

namespace kvlab {

/// T: the type of a packed value. A value that is null becomes not-a-number.
template <class T = float>
std::vector<float> columnFrom(const nlohmann::json& list) {
  std::vector<float> out;
  if (list.is_binary()) {
    const auto& bytes = list.get_binary();
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return {values.begin(), values.end()};
  }
  out.reserve(list.size());
  for (const nlohmann::json& one : list) out.push_back(one.is_number() ? one.get<float>() : NAN);
  return out;
}

}  // namespace kvlab
