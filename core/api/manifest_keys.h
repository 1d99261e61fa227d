// SPDX-License-Identifier: Apache-2.0
// Reads the keys of a manifest's objects one by one; a wrong value or a key that nobody took is an error that
// names it by its path. Used by the readers of core/api alone; any thread.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/error.h"

namespace kvlab {

inline Error badManifest(const std::string& key, const nlohmann::json& value, const std::string& why) {
  return Error{"bad_manifest",
               "the manifest was refused",
               key + " " + why,
               "correct the key; the README lists all of them",
               std::nullopt,
               key,
               value};
}

/// A value of an enumeration as manifests write it.
template <class E>
struct Word {
  const char* text;
  E value;
};

template <class E, std::size_t N>
const char* wordOf(const Word<E> (&words)[N], E value) {
  for (const Word<E>& word : words)
    if (word.value == value) return word.text;
  return "";
}

/// Takes the keys of one object off a list; what is left over is unknown.
class ManifestKeys {
 public:
  ManifestKeys(const nlohmann::json& object, std::string prefix) : m_prefix(std::move(prefix)), m_rest(object) {}

  template <class Read>
  void take(const char* key, Read read) {
    const auto it = m_rest.find(key);
    if (it == m_rest.end()) return;
    const nlohmann::json value = *it;
    m_rest.erase(it);
    if (!m_error)
      if (const std::optional<std::string> why = read(value)) m_error = badManifest(m_prefix + key, value, *why);
  }

  void real(const char* key, double& out, double low, double high) {
    take(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      if (!v.is_number() || !std::isfinite(v.get<double>())) return "is not a number";
      if (v.get<double>() < low || v.get<double>() > high)
        return "is outside " + nlohmann::json(low).dump() + " .. " + nlohmann::json(high).dump();
      out = v.get<double>();
      return std::nullopt;
    });
  }

  template <class Int>
  void integer(const char* key, Int& out, std::int64_t low, std::int64_t high) {
    take(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      const bool huge =
          v.is_number_unsigned() && v.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max());
      if (!v.is_number_integer() || huge) return "is not an integer in range";
      if (v.get<std::int64_t>() < low || v.get<std::int64_t>() > high)
        return "is outside " + std::to_string(low) + " .. " + std::to_string(high);
      out = static_cast<Int>(v.get<std::int64_t>());
      return std::nullopt;
    });
  }

  void flag(const char* key, bool& out) {
    take(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      if (!v.is_boolean()) return "is not true or false";
      out = v.get<bool>();
      return std::nullopt;
    });
  }

  void text(const char* key, std::string& out, std::initializer_list<const char*> allowed = {}) {
    take(key, [&](const nlohmann::json& v) { return readText(v, out, allowed); });
  }

  template <class E, std::size_t N>
  void word(const char* key, E& out, const Word<E> (&words)[N]) {
    take(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      std::string all;
      for (const Word<E>& w : words) {
        if (v.is_string() && v.get<std::string>() == w.text) {
          out = w.value;
          return std::nullopt;
        }
        all += (all.empty() ? "" : ", ") + std::string(w.text);
      }
      return "is not one of " + all;
    });
  }

  /// Takes the key off the list if it has one of these values.
  bool holds(const char* key, std::initializer_list<nlohmann::json> values) {
    const auto it = m_rest.find(key);
    if (it == m_rest.end() || std::find(values.begin(), values.end(), *it) == values.end()) return false;
    m_rest.erase(it);
    return true;
  }

  void object(const char* key, const std::function<void(ManifestKeys&)>& read) {
    take(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      if (!v.is_object()) return "is not an object";
      ManifestKeys inner(v, m_prefix + key + ".");
      read(inner);
      if (auto error = inner.finish()) m_inner = *error;
      return std::nullopt;
    });
  }

  /// Each entry of an array of objects.
  void list(const char* key, const std::function<void(ManifestKeys&)>& read) {
    take(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      if (!v.is_array()) return "is not a list";
      for (std::size_t i = 0; i < v.size() && !m_inner; ++i) {
        const std::string place = m_prefix + key + "[" + std::to_string(i) + "]";
        if (!v[i].is_object()) return "has an entry that is not an object";
        ManifestKeys inner(v[i], place + ".");
        read(inner);
        if (auto error = inner.finish()) m_inner = *error;
      }
      return std::nullopt;
    });
  }

  void fail(const char* key, const nlohmann::json& value, const std::string& why) {
    if (!m_error) m_error = badManifest(m_prefix + key, value, why);
  }

  std::optional<Error> finish() {
    if (m_inner) return m_inner;
    if (!m_error && !m_rest.empty())
      m_error = badManifest(m_prefix + m_rest.begin().key(), m_rest.begin().value(), "is not a known key");
    return m_error;
  }

  static std::optional<std::string> readText(const nlohmann::json& v, std::string& out,
                                             std::initializer_list<const char*> allowed) {
    if (!v.is_string()) return "is not a text";
    std::string all;
    for (const char* word : allowed) {
      if (v.get<std::string>() == word) all.clear();
      if (v.get<std::string>() == word) break;
      all += (all.empty() ? "is not one of " : ", ") + std::string(word);
    }
    if (!all.empty()) return all;
    out = v.get<std::string>();
    return std::nullopt;
  }

 private:
  std::string m_prefix;
  nlohmann::json m_rest;
  std::optional<Error> m_error, m_inner;
};

}  // namespace kvlab
