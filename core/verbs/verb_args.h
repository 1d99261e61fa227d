// SPDX-License-Identifier: Apache-2.0
// Reads the argument object of a verb, or of another call of the script language, by its table: names, types and
// bounds are checked at once, before anything runs; what only the session bounds, the verb asks for here. Keeps the
// first error; completed() adds what was called. One per call; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/api/verb.h"

namespace kvlab {

/// Ids are whole numbers of 32 bits.
inline constexpr std::int64_t kMostId = (std::int64_t{1} << 31) - 1;

class VerbArgs {
 public:
  /// Both outlive it. also: a name that is allowed besides and not checked.
  VerbArgs(const std::vector<ArgInfo>& table, const nlohmann::json& args, std::string_view also = {});

  bool has(const char* field) const;
  const nlohmann::json& raw(const char* field) const { return m_args[field]; }
  const nlohmann::json& all() const { return m_args; }

  // What was given, else what the table says, else the type's zero. Call these only where there is no error.
  std::int64_t integer(const char* field) const;
  std::int64_t integer(const char* field, std::int64_t missing) const { return has(field) ? integer(field) : missing; }
  double number(const char* field) const;
  std::string text(const char* field) const;
  bool flag(const char* field) const;
  std::vector<double> numbers(const char* field) const;
  template <class Id>
  std::vector<Id> ids(const char* field) const {
    std::vector<Id> out;
    if (has(field))
      for (const nlohmann::json& id : raw(field)) out.push_back(Id(static_cast<typename Id::rep>(id.get<double>())));
    return out;
  }

  /// An integer between bounds that the session knows. Missing without a default: an error, and `low`.
  std::int64_t within(const char* field, std::int64_t low, std::int64_t high, std::optional<std::int64_t> missing = {});
  /// Ids of a vocabulary.
  std::vector<TokenId> tokens(const char* field, std::int64_t vocab);

  void fail(const char* field, const nlohmann::json& value, const std::string& why, const char* code = "bad_argument");
  const std::optional<Error>& error() const { return m_error; }

  /// An error of this reader, told which call was refused and what it takes.
  static Error completed(Error error, const std::string& call, const std::vector<ArgInfo>& table);

 private:
  void check(const ArgInfo& arg);
  void checkNumber(const ArgInfo& arg, const nlohmann::json& value);
  void checkText(const ArgInfo& arg, const nlohmann::json& value);
  void checkList(const ArgInfo& arg, const nlohmann::json& value);
  const nlohmann::json& valueOf(const char* field) const;

  const std::vector<ArgInfo>& m_table;
  const nlohmann::json& m_args;
  std::optional<Error> m_error;
};

}  // namespace kvlab
