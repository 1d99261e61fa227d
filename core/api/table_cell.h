// SPDX-License-Identifier: Apache-2.0
// A cell of a table on its way into a column: null, or a value of the column's type. Texts and JSON are looked at, not
// copied: they live until the row has been added. A value; any thread.
#pragma once
#include <cmath>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace kvlab {

class TableCell {
 public:
  TableCell() = default;
  TableCell(bool flag) : m_value(flag) {}
  template <std::integral T>
  TableCell(T value) : m_value(static_cast<std::int64_t>(value)) {}
  /// A number that is not finite is not known.
  template <std::floating_point T>
  TableCell(T value) {
    if (std::isfinite(value)) m_value = static_cast<double>(value);
  }
  TableCell(std::string_view text) : m_value(text) {}
  TableCell(const std::string& text) : m_value(std::string_view(text)) {}
  TableCell(const char* text) : m_value(std::string_view(text)) {}
  TableCell(const nlohmann::json& value) { *this = ofJson(value); }
  template <class T>
  TableCell(const std::optional<T>& value) {
    if (value) *this = TableCell(*value);
  }

  bool null() const { return std::holds_alternative<std::monostate>(m_value); }
  std::optional<std::int64_t> integer() const { return as<std::int64_t>(); }
  std::optional<bool> flag() const { return as<bool>(); }
  std::optional<std::string_view> text() const { return as<std::string_view>(); }
  std::optional<double> number() const {
    if (const auto* whole = std::get_if<std::int64_t>(&m_value)) return static_cast<double>(*whole);
    return as<double>();
  }
  nlohmann::json json() const {
    return std::visit([](const auto& value) { return toJson(value); }, m_value);
  }

 private:
  using Json = const nlohmann::json*;  // a list or an object

  template <class T>
  std::optional<T> as() const {
    const T* value = std::get_if<T>(&m_value);
    return value ? std::optional<T>(*value) : std::nullopt;
  }
  static TableCell ofJson(const nlohmann::json& value) {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) return value.get_ref<const std::string&>();
    TableCell out;
    if (!value.is_null()) out.m_value = &value;
    return out;
  }
  template <class T>
  static nlohmann::json toJson(const T& value) {
    if constexpr (std::is_same_v<T, std::monostate>) return nullptr;
    else if constexpr (std::is_same_v<T, Json>) return *value;
    else return value;
  }

  std::variant<std::monostate, bool, std::int64_t, double, std::string_view, Json> m_value;
};

}  // namespace kvlab
