// SPDX-License-Identifier: Apache-2.0
// Long columns of numbers in the reply of a verb. Pure; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

namespace kvlab {

/// An array of numbers, or if packed their bytes in memory order: freeing millions of JSON numbers takes seconds.
template <class T>
nlohmann::json columnOf(const std::vector<T>& values, bool packed) {
  if (!packed) return values;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  return nlohmann::json::binary({bytes, bytes + values.size() * sizeof(T)});
}

}  // namespace kvlab
