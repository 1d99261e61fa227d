// SPDX-License-Identifier: Apache-2.0
// Typed reading of one JSON object from a model's files; every complaint names file, key and value.
// A key that is null counts as missing. Borrows the object and the file's name; any thread.
#pragma once
#include <optional>
#include <string>
#include <type_traits>

#include "core/api/error.h"

namespace kvlab {

class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, const std::string& file, const char* code = "bad_model")
      : m_json(object), m_file(file), m_code(code) {}

  const nlohmann::json& json() const { return m_json; }
  const std::string& file() const { return m_file; }
  /// The same for an object inside this one.
  JsonFields inside(const nlohmann::json& object) const { return {object, m_file, m_code}; }
  bool has(const char* key) const {
    const auto it = m_json.find(key);
    return it != m_json.end() && !it->is_null();
  }

  Error bad(const std::string& key, const std::string& why,
            const std::string& remedy = "correct the file or use another checkpoint") const {
    Error error{m_code, "cannot use " + m_file, key + " " + why, remedy};
    error.field = key;
    if (const auto it = m_json.find(key); it != m_json.end()) {
      error.value = *it;
      error.why = key + " " + clipped(*it) + " " + why;
    }
    return error;
  }

  /// A number in [low, high]; `other` where the key is missing, an error if there is no `other`.
  template <class T>
  Status number(const char* key, T& out, std::type_identity_t<T> low, std::type_identity_t<T> high,
                std::type_identity_t<std::optional<T>> other = {}) const {
    if (!has(key)) {
      if (!other) return bad(key, "is missing");
      out = *other;
      return ok();
    }
    const nlohmann::json& value = m_json.at(key);
    if (!value.is_number()) return bad(key, std::is_integral_v<T> ? "is not a whole number" : "is not a number");
    const auto wide = value.get<double>();
    if (!(wide >= static_cast<double>(low) && wide <= static_cast<double>(high)))
      return bad(key, "is outside " + nlohmann::json(low).dump() + " to " + nlohmann::json(high).dump());
    if (std::is_integral_v<T> && !value.is_number_integer()) return bad(key, "is not a whole number");
    out = value.get<T>();
    return ok();
  }

  Result<bool> flag(const char* key, bool other) const {
    if (!has(key)) return other;
    if (!m_json.at(key).is_boolean()) return bad(key, "is neither true nor false");
    return m_json.at(key).get<bool>();
  }

  Result<std::string> text(const char* key, std::optional<std::string> other = {}) const {
    if (!has(key)) {
      if (!other) return bad(key, "is missing");
      return *other;
    }
    if (!m_json.at(key).is_string()) return bad(key, "is not text");
    return m_json.at(key).get<std::string>();
  }

 private:
  static std::string clipped(const nlohmann::json& value) {
    std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return text.size() > 80 ? text.substr(0, 77) + "..." : text;
  }

  const nlohmann::json& m_json;
  const std::string& m_file;
  const char* m_code;
};

}  // namespace kvlab
