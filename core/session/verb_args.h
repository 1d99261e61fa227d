// SPDX-License-Identifier: Apache-2.0
// Reads the argument object of a verb and keeps the first error. Engine thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"

namespace kvlab {

class VerbArgs {
 public:
  explicit VerbArgs(const nlohmann::json& args) : m_args(args) {}

  bool has(const char* field) const { return m_args.is_object() && m_args.contains(field) && !m_args[field].is_null(); }
  const nlohmann::json& raw(const char* field) const { return m_args[field]; }

  std::int64_t integer(const char* field, std::optional<std::int64_t> missing, std::int64_t low, std::int64_t high) {
    if (!has(field)) return missing ? *missing : (fail(field, nullptr, "is missing"), low);
    const nlohmann::json& v = m_args[field];
    // Scripts have one kind of number: 3.0 is an integer too.
    const double number = v.is_number() ? v.get<double>() : 0.5;
    if (number != static_cast<double>(static_cast<std::int64_t>(number < -9e15 ? 0 : number > 9e15 ? 0 : number)) ||
        number < static_cast<double>(low) || number > static_cast<double>(high))
      return fail(field, v, "is not an integer from " + std::to_string(low) + " to " + std::to_string(high)), low;
    return static_cast<std::int64_t>(number);
  }

  double real(const char* field, double low, double high) {
    if (!has(field)) return fail(field, nullptr, "is missing"), low;
    const nlohmann::json& v = m_args[field];
    if (!v.is_number() || !(v.get<double>() >= low && v.get<double>() <= high))
      return fail(field, v, "is not a number in range"), low;
    return v.get<double>();
  }

  std::string text(const char* field, std::optional<std::string> missing = {}) {
    if (!has(field)) return missing ? *missing : (fail(field, nullptr, "is missing"), std::string());
    if (!m_args[field].is_string()) return fail(field, m_args[field], "is not a text"), std::string();
    return m_args[field].get<std::string>();
  }

  bool flag(const char* field, bool missing) {
    if (!has(field)) return missing;
    if (!m_args[field].is_boolean()) return fail(field, m_args[field], "is not true or false"), missing;
    return m_args[field].get<bool>();
  }

  template <class Id>
  std::vector<Id> ids(const char* field, std::int64_t most) {
    std::vector<Id> out;
    if (!has(field) || !m_args[field].is_array()) return fail(field, has(field) ? m_args[field] : nlohmann::json(), "is not a list"), out;
    for (const nlohmann::json& v : m_args[field]) {
      const double number = v.is_number() ? v.get<double>() : -1;
      if (!(number >= 0 && number <= static_cast<double>(most)) || number != static_cast<double>(static_cast<std::int64_t>(number)))
        return fail(field, v, "holds something that is not an id from 0 to " + std::to_string(most)), out;
      out.push_back(Id(static_cast<typename Id::rep>(number)));
    }
    return out;
  }

  void fail(const char* field, const nlohmann::json& value, const std::string& why) {
    if (!m_error)
      m_error = Error{"bad_argument", "the call was refused", std::string(field) + " " + why,
                      "see the list of verbs for its arguments", std::nullopt, field, value};
  }
  const std::optional<Error>& error() const { return m_error; }

 private:
  const nlohmann::json& m_args;
  std::optional<Error> m_error;
};

}  // namespace kvlab
