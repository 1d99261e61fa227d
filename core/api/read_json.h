// SPDX-License-Identifier: Apache-2.0
// Reads JSON that somebody else wrote. A member that is missing, or of another type, gives the value for that case:
// nothing here throws, and no pointer dangles. Pure; any thread.
#pragma once
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace kvlab {

/// The member of an object; null where there is none.
inline const nlohmann::json& member(const nlohmann::json& from, const std::string& key) {
  static const nlohmann::json none;
  const auto found = from.find(key);  // the end where `from` is no object
  return found == from.end() ? none : *found;
}

/// The element of an array; null where there is none.
inline const nlohmann::json& element(const nlohmann::json& from, std::size_t place) {
  static const nlohmann::json none;
  return from.is_array() && place < from.size() ? from[place] : none;
}

/// The value as a T: bool, a number or std::string. For a whole T a number with a fraction, or out of its range, counts
/// as none.
template <class T>
T jsonOr(const nlohmann::json& value, T otherwise) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.is_boolean() ? value.get<bool>() : otherwise;
  } else if constexpr (std::is_integral_v<T>) {
    if (value.is_number_unsigned()) {
      const auto whole = value.get<std::uint64_t>();
      return whole <= static_cast<std::uint64_t>(std::numeric_limits<T>::max()) ? static_cast<T>(whole) : otherwise;
    }
    if (value.is_number_integer()) {
      const auto whole = value.get<std::int64_t>();
      return std::in_range<T>(whole) ? static_cast<T>(whole) : otherwise;
    }
    const double number = value.is_number() ? value.get<double>() : NAN;
    const bool whole = std::abs(number) < 9007199254740992.0 && number == std::trunc(number);  // 2^53
    return whole && std::in_range<T>(static_cast<std::int64_t>(number)) ? static_cast<T>(number) : otherwise;
  } else if constexpr (std::is_floating_point_v<T>) {
    return value.is_number() ? value.get<T>() : otherwise;
  } else {
    return value.is_string() ? value.get<std::string>() : otherwise;
  }
}

/// The same of a member.
template <class T>
T memberOr(const nlohmann::json& from, const std::string& key, T otherwise) {
  return jsonOr(member(from, key), std::move(otherwise));
}

}  // namespace kvlab
