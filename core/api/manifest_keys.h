// SPDX-License-Identifier: Apache-2.0
// Reads the keys of a manifest's objects one by one; a wrong value or a key that nobody took is an error that
// names it by its path. Each key is read with its meaning, so that the same readers list all keys there are.
// Used by the readers of core/api alone; any thread.
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
#include "core/api/manifest_list.h"
#include "core/api/texts.h"

namespace kvlab {

inline Error badManifest(const std::string& key, const nlohmann::json& value, const std::string& why) {
  return Error("bad_manifest", "the manifest was refused", key + " " + why,
               "correct the key; kvlab list manifest shows all of them", key, value);
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

template <class E, std::size_t N>
std::string wordsOf(const Word<E> (&words)[N]) {
  std::string all;
  for (const Word<E>& word : words) all += (all.empty() ? "" : ", ") + std::string(word.text);
  return all;
}

/// Takes the keys of one object off a list; keys that are left over are unknown. Or, without an object, lists the keys
/// that its readers ask for, or writes the present values of the variables that they would read into.
class ManifestKeys {
 public:
  using Meaning = std::string_view;  // words for the list
  ManifestKeys(const nlohmann::json& object, std::string prefix) : m_prefix(std::move(prefix)), m_rest(object) {}
  ManifestKeys(std::vector<ManifestKey>& list, std::string prefix)
      : m_prefix(std::move(prefix)), m_rest(nlohmann::json::object()), m_list(&list) {}
  /// Writes: each key becomes its value; keys of take() get their default; null ones and lists are left out.
  static ManifestKeys into(nlohmann::json& out) {
    ManifestKeys keys(out = nlohmann::json::object(), "");
    keys.m_out = &out;
    return keys;
  }

  /// The readers are asked for their keys: nothing is read.
  bool listing() const { return m_list != nullptr; }
  /// A line of the list, for a key that is read in another way; otherwise: null = there is no fixed one.
  void describe(const char* key, std::string type, nlohmann::json otherwise, Meaning meaning) {
    if (m_list) m_list->push_back({m_prefix + key, std::move(type), std::move(otherwise), std::string(meaning)});
  }

  template <class Read>
  void take(const char* key, const char* type, const nlohmann::json& otherwise, Meaning meaning, Read read) {
    if (m_list) describe(key, type, otherwise, meaning);
    if (!otherwise.is_null()) write(key, otherwise);
    takeKnown(key, read);
  }

  void real(const char* key, double& out, double low, double high, Meaning meaning) {
    if (m_list)
      describe(key, range("number", low, high), std::isnan(out) ? nlohmann::json() : nlohmann::json(out), meaning);
    write(key, out);
    takeKnown(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      if (!v.is_number() || !std::isfinite(v.get<double>())) return "is not a number";
      if (v.get<double>() < low || v.get<double>() > high)
        return "is outside " + nlohmann::json(low).dump() + " .. " + nlohmann::json(high).dump();
      out = v.get<double>();
      return std::nullopt;
    });
  }

  template <class Int>
  void integer(const char* key, Int& out, std::int64_t low, std::int64_t high, Meaning meaning) {
    integer(key, out, low, high, out, meaning);
  }
  /// listed: the default value that the list shows for the key.
  template <class Int>
  void integer(const char* key, Int& out, std::int64_t low, std::int64_t high, const nlohmann::json& listed,
               Meaning meaning) {
    if (m_list) describe(key, range("integer", low, high), listed, meaning);
    write(key, out);
    takeKnown(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      const bool huge =
          v.is_number_unsigned() && v.get<std::uint64_t>() > std::uint64_t(std::numeric_limits<std::int64_t>::max());
      if (!v.is_number_integer() || huge) return "is not an integer in range";
      if (v.get<std::int64_t>() < low || v.get<std::int64_t>() > high)
        return "is outside " + std::to_string(low) + " .. " + std::to_string(high);
      out = static_cast<Int>(v.get<std::int64_t>());
      return std::nullopt;
    });
  }

  void flag(const char* key, bool& out, Meaning meaning) { flag(key, out, out, meaning); }
  void flag(const char* key, bool& out, const nlohmann::json& listed, Meaning meaning) {
    if (m_list) describe(key, "true or false", listed, meaning);
    write(key, out);
    takeKnown(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      if (!v.is_boolean()) return "is not true or false";
      out = v.get<bool>();
      return std::nullopt;
    });
  }

  void text(const char* key, std::string& out, std::initializer_list<const char*> allowed, Meaning meaning) {
    std::string all;
    for (const char* word : allowed) all += (all.empty() ? "" : ", ") + (*word ? std::string(word) : "\"\"");
    if (m_list) describe(key, all.empty() ? "text" : "one of " + all, out, meaning);
    write(key, out);
    takeKnown(key, [&](const nlohmann::json& v) { return readText(v, out, allowed); });
  }

  template <class E, std::size_t N>
  void word(const char* key, E& out, const Word<E> (&words)[N], Meaning meaning) {
    if (m_list) describe(key, "one of " + wordsOf(words), wordOf(words, out), meaning);
    write(key, wordOf(words, out));
    takeKnown(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      for (const Word<E>& w : words)
        if (v.is_string() && v.get<std::string>() == w.text) {
          out = w.value;
          return std::nullopt;
        }
      return "is not one of " + wordsOf(words);
    });
  }

  /// Takes the key off the list if it has one of these values.
  bool holds(const char* key, std::initializer_list<nlohmann::json> values) {
    const auto it = m_rest.find(key);
    if (it == m_rest.end() || std::find(values.begin(), values.end(), *it) == values.end()) return false;
    m_rest.erase(it);
    return true;
  }

  void object(const char* key, Meaning meaning, const std::function<void(ManifestKeys&)>& read) {
    if (m_list) describe(key, "object", nlohmann::json(), meaning);
    if (m_list) return listInner(m_prefix + key + ".", read);
    if (m_out) {
      ManifestKeys inner = into((*m_out)[key]);
      return read(inner);
    }
    takeKnown(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
      if (!v.is_object()) return "is not an object";
      ManifestKeys inner(v, m_prefix + key + ".");
      read(inner);
      if (auto error = inner.finish()) m_inner = *error;
      return std::nullopt;
    });
  }

  /// Each entry of an array of objects.
  void list(const char* key, Meaning meaning, const std::function<void(ManifestKeys&)>& read) {
    if (m_list) describe(key, "list of objects", nlohmann::json::array(), meaning);
    if (m_list) return listInner(m_prefix + key + "[].", read);
    takeKnown(key, [&](const nlohmann::json& v) -> std::optional<std::string> {
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
  /// Lists keys that another reader takes from the value at `prefix`.
  void listInner(const std::string& prefix, const std::function<void(ManifestKeys&)>& read) {
    ManifestKeys inner(*m_list, prefix);
    read(inner);
  }

  void fail(const char* key, const nlohmann::json& value, const std::string& why) {
    if (!m_error) m_error = badManifest(m_prefix + key, value, why);
  }

  std::optional<Error> finish() {
    if (m_inner) return m_inner;
    if (!m_error && !m_rest.empty())
      m_error = badManifest(m_prefix + m_rest.begin().key(), m_rest.begin().value(),
                            "is not a known key" + nearestNote(m_rest.begin().key(), {m_known.begin(), m_known.end()}));
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
  template <class Number>
  static std::string range(const char* word, Number low, Number high) {
    return std::string(word) + " " + nlohmann::json(low).dump() + " .. " + nlohmann::json(high).dump();
  }

  void write(const char* key, const nlohmann::json& value) {
    if (m_out) (*m_out)[key] = value;
  }

  template <class Read>
  void takeKnown(const char* key, Read read) {
    m_known.push_back(key);
    const auto it = m_rest.find(key);
    if (it == m_rest.end()) return;
    const nlohmann::json value = *it;
    m_rest.erase(it);
    if (!m_error)
      if (const std::optional<std::string> why = read(value)) m_error = badManifest(m_prefix + key, value, *why);
  }

  std::string m_prefix;
  nlohmann::json m_rest;
  std::vector<ManifestKey>* m_list = nullptr;
  nlohmann::json* m_out = nullptr;
  std::vector<const char*> m_known;  // keys that the readers asked for
  std::optional<Error> m_error, m_inner;
};

}  // namespace kvlab
