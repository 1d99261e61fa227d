// SPDX-License-Identifier: Apache-2.0
// Reads the argument object of a verb, or of another call of the script language, and keeps the first
// error; completed() adds what was called. One per call; any thread.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/model/tokens/utf8.h"

namespace kvlab {

class VerbArgs {
 public:
  explicit VerbArgs(const nlohmann::json& args) : m_args(args) {}

  /// Refuses what is not an object, and names that are not in the list.
  void only(const std::vector<std::string>& names) {
    if (!m_args.is_object()) return fail("args", m_args, "are not an object");
    for (const auto& [key, value] : m_args.items())
      if (std::find(names.begin(), names.end(), key) == names.end() && !m_error)
        m_error = Error{
            "bad_argument", "", '"' + key + "\" is not an argument of it", "", std::nullopt, key.empty() ? "args" : key,
            value};
  }

  bool has(const char* field) const { return m_args.is_object() && m_args.contains(field) && !m_args[field].is_null(); }
  const nlohmann::json& raw(const char* field) const { return m_args[field]; }

  std::int64_t integer(const char* field, std::optional<std::int64_t> missing, std::int64_t low, std::int64_t high) {
    if (!has(field)) return missing ? *missing : (fail(field, nullptr, "is missing"), low);
    const nlohmann::json& v = m_args[field];
    if (const auto number = whole(v, low, high)) return *number;
    return fail(field, v, "is not an integer from " + std::to_string(low) + " to " + std::to_string(high)), low;
  }

  double real(const char* field, double low, double high) {
    if (!has(field)) return fail(field, nullptr, "is missing"), low;
    const nlohmann::json& v = m_args[field];
    if (!v.is_number() || !(v.get<double>() >= low && v.get<double>() <= high))
      return fail(field, v,
                  "is not a number from " + nlohmann::json(low).dump() + " to " + nlohmann::json(high).dump()),
             low;
    return v.get<double>();
  }

  std::string text(const char* field, std::optional<std::string> missing = {}) {
    if (!has(field)) return missing ? *missing : (fail(field, nullptr, "is missing"), std::string());
    if (!m_args[field].is_string()) return fail(field, m_args[field], "is not a text"), std::string();
    std::string words = m_args[field].get<std::string>();
    if (const auto at = invalidUtf8At(words); at != std::string::npos)
      return fail(field, validUtf8(words), "is not UTF-8 at byte " + std::to_string(at), "bad_text"), std::string();
    return words;
  }

  /// A file name: the system ends one at its first NUL.
  std::string path(const char* field) {
    std::string name = text(field);
    if (!m_error && (name.empty() || name.find('\0') != std::string::npos)) fail(field, name, "is not a file name");
    return name;
  }

  bool flag(const char* field, bool missing) {
    if (!has(field)) return missing;
    if (!m_args[field].is_boolean()) return fail(field, m_args[field], "is not true or false"), missing;
    return m_args[field].get<bool>();
  }

  template <class Id>
  std::vector<Id> ids(const char* field, std::int64_t most) {
    std::vector<Id> out;
    if (!has(field)) return fail(field, nullptr, "is missing"), out;
    const nlohmann::json& list = m_args[field];
    if (!list.is_array()) return fail(field, list, "is not a list"), out;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto number = whole(list[i], 0, most);
      if (!number)
        return fail(field, list[i],
                    "holds something that is not an id from 0 to " + std::to_string(most) + ", at place " +
                        std::to_string(i)),
               out;
      out.push_back(Id(static_cast<typename Id::rep>(*number)));
    }
    return out;
  }

  /// Ids of a vocabulary, at least one.
  std::vector<TokenId> tokens(const char* field, std::int64_t vocab) {
    std::vector<TokenId> out = ids<TokenId>(field, (std::int64_t{1} << 31) - 1);
    if (out.empty()) fail(field, nlohmann::json::array(), "is empty", "empty_tokens");
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].value() >= vocab)
        fail(field, out[i].value(),
             "holds " + std::to_string(out[i].value()) + " at place " + std::to_string(i) +
                 ", outside the vocabulary of " + std::to_string(vocab),
             "bad_token");
    return out;
  }

  void fail(const char* field, const nlohmann::json& value, const std::string& why, const char* code = "bad_argument") {
    if (!m_error) m_error = Error{code, "", std::string(field) + " " + why, "", std::nullopt, field, value};
  }
  const std::optional<Error>& error() const { return m_error; }

  /// An error of this reader, told which call was refused and what it takes.
  static Error completed(Error error, const std::string& call, const std::vector<std::string>& names) {
    if (error.what.empty()) error.what = call + " was refused";
    if (!error.remedy.empty()) return error;
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    error.remedy = all.empty() ? "call it without arguments" : "correct it; " + call + " takes " + all;
    return error;
  }

 private:
  /// Scripts have one kind of number: 3.0 is an integer too. A double holds every bound exactly.
  static std::optional<std::int64_t> whole(const nlohmann::json& value, std::int64_t low, std::int64_t high) {
    const double number = value.is_number() ? value.get<double>() : 0.5;
    if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high))) return std::nullopt;
    const auto integer = static_cast<std::int64_t>(number);
    if (static_cast<double>(integer) != number) return std::nullopt;
    return integer;
  }

  const nlohmann::json& m_args;
  std::optional<Error> m_error;
};

}  // namespace kvlab
