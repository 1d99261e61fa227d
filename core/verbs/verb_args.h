// SPDX-License-Identifier: Apache-2.0
// Reads the argument object of a verb, or of another call of the script language, by its table. The constructor checks
// names, types and bounds before anything runs. Bounds that only the session knows are checked by within() and
// tokens(). Keeps the first error; completed() adds the name of the call. One per call; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/api/verb.h"

namespace kvlab {

/// Ids are whole numbers of at most 31 bits.
inline constexpr std::int64_t kMostId = (std::int64_t{1} << 31) - 1;

class VerbArgs {
 public:
  /// The table and the arguments must outlive this object. also: another allowed name, which is not checked.
  VerbArgs(const std::vector<ArgInfo>& table, const nlohmann::json& args, std::string_view also = {});

  bool has(const char* field) const;
  const nlohmann::json& raw(const char* field) const { return m_args[field]; }
  const nlohmann::json& all() const { return m_args; }

  // The given value, else the table's default, else zero. Call these only if error() is empty.
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

  /// An integer between bounds that the session knows. A missing integer without default is an error; returns `low`.
  std::int64_t within(const char* field, std::int64_t low, std::int64_t high, std::optional<std::int64_t> missing = {});
  /// Token ids below `vocab`.
  std::vector<TokenId> tokens(const char* field, std::int64_t vocab);

  void fail(const char* field, const nlohmann::json& value, const std::string& why, const char* code = "bad_argument");
  const std::optional<Error>& error() const { return m_error; }

  /// Adds the name of the refused call and its argument list to an error of this reader.
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
