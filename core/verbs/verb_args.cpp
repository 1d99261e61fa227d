// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/verb_args.h"

#include <algorithm>

#include "core/api/texts.h"
#include "core/model/tokens/utf8.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// Scripts have one kind of number, so 3.0 counts as an integer. A double holds every bound exactly.
std::optional<std::int64_t> whole(const json& value, double low, double high) {
  const double number = value.is_number() ? value.get<double>() : 0.5;
  if (!(number >= low && number <= high)) return std::nullopt;
  const auto integer = static_cast<std::int64_t>(number);
  if (static_cast<double>(integer) != number) return std::nullopt;
  return integer;
}

std::string notInteger(std::int64_t low, std::int64_t high) {
  return "is not an integer from " + std::to_string(low) + " to " + std::to_string(high);
}

const char* emptyCode(ArgType type) {
  if (type == ArgType::Tokens) return "empty_tokens";
  return type == ArgType::Actions ? "empty_actions" : "bad_argument";
}

}  // namespace

VerbArgs::VerbArgs(const std::vector<ArgInfo>& table, const json& args, std::string_view also)
    : m_table(table), m_args(args) {
  if (!args.is_object()) fail("args", args, "are not an object");
  if (m_error) return;
  const std::vector<std::string> names = namesOf(table);
  for (const auto& [key, value] : args.items()) {
    if (m_error || (!also.empty() && key == also) || std::find(names.begin(), names.end(), key) != names.end())
      continue;
    const std::string why = '"' + key + "\" is not an argument of it" + nearestNote(key, names);
    m_error = Error("bad_argument", "", why, "", key.empty() ? "args" : key, value);
  }
  for (const ArgInfo& arg : table) check(arg);
}

bool VerbArgs::has(const char* field) const {
  return m_args.is_object() && m_args.contains(field) && !m_args[field].is_null();
}

/// The given value, or the table's default.
const json& VerbArgs::valueOf(const char* field) const {
  static const json kNone;
  if (has(field)) return m_args[field];
  const auto found = std::ranges::find(m_table, field, &ArgInfo::name);
  return found == m_table.end() ? kNone : found->otherwise;
}

std::int64_t VerbArgs::integer(const char* field) const {
  const json& value = valueOf(field);
  return value.is_number() ? static_cast<std::int64_t>(value.get<double>()) : 0;
}

double VerbArgs::number(const char* field) const {
  const json& value = valueOf(field);
  return value.is_number() ? value.get<double>() : 0;
}

std::string VerbArgs::text(const char* field) const {
  const json& value = valueOf(field);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool VerbArgs::flag(const char* field) const {
  const json& value = valueOf(field);
  return value.is_boolean() && value.get<bool>();
}

std::vector<double> VerbArgs::numbers(const char* field) const {
  return has(field) ? raw(field).get<std::vector<double>>() : std::vector<double>();
}

std::int64_t VerbArgs::within(const char* field, std::int64_t low, std::int64_t high,
                              std::optional<std::int64_t> missing) {
  if (!has(field)) return missing ? *missing : (fail(field, nullptr, "is missing"), low);
  const auto number = whole(raw(field), static_cast<double>(low), static_cast<double>(high));
  if (!number) fail(field, raw(field), notInteger(low, high));
  return number.value_or(low);
}

std::vector<TokenId> VerbArgs::tokens(const char* field, std::int64_t vocab) {
  std::vector<TokenId> out = ids<TokenId>(field);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].value() >= vocab)
      fail(field, out[i].value(),
           "holds " + std::to_string(out[i].value()) + " at place " + std::to_string(i) +
               ", outside the vocabulary of " + std::to_string(vocab),
           "bad_token");
  return out;
}

void VerbArgs::fail(const char* field, const json& value, const std::string& why, const char* code) {
  if (!m_error) m_error = Error(code, "", std::string(field) + " " + why, "", field, value);
}

Error VerbArgs::completed(Error error, const std::string& call, const std::vector<ArgInfo>& table) {
  if (error.what.empty()) error.what = call + " was refused";
  if (!error.remedy.empty()) return error;
  std::string all;
  for (const ArgInfo& arg : table) all += (all.empty() ? "" : ", ") + arg.name;
  error.remedy = all.empty() ? "call it without arguments" : "correct it; " + call + " takes " + all;
  return error;
}

void VerbArgs::check(const ArgInfo& arg) {
  const char* field = arg.name.c_str();
  if (!has(field)) {
    if (!arg.optional) fail(field, nullptr, "is missing");
    return;
  }
  const json& value = m_args[field];
  switch (arg.type) {
    case ArgType::Integer:
    case ArgType::Number: return checkNumber(arg, value);
    case ArgType::Text:
    case ArgType::Path:
    case ArgType::Verb: return checkText(arg, value);
    case ArgType::Flag: return value.is_boolean() ? void() : fail(field, value, "is not true or false");
    case ArgType::Tokens:
    case ArgType::LedgerIds:
    case ArgType::Numbers:
    case ArgType::Actions:
    case ArgType::List: return checkList(arg, value);
    case ArgType::Object:
    case ArgType::Arguments: return value.is_object() ? void() : fail(field, value, "is not an object");
    case ArgType::Policy:
    case ArgType::Key: return;  // their own readers check them
  }
}

void VerbArgs::checkNumber(const ArgInfo& arg, const json& value) {
  const char* field = arg.name.c_str();
  if (arg.type == ArgType::Integer) {
    if (!whole(value, arg.low, arg.high))
      fail(field, value, notInteger(static_cast<std::int64_t>(arg.low), static_cast<std::int64_t>(arg.high)));
  } else if (!value.is_number() || !(value.get<double>() >= arg.low && value.get<double>() <= arg.high)) {
    fail(field, value, "is not a number from " + json(arg.low).dump() + " to " + json(arg.high).dump());
  }
}

void VerbArgs::checkText(const ArgInfo& arg, const json& value) {
  const char* field = arg.name.c_str();
  if (!value.is_string()) return fail(field, value, "is not a text");
  const std::string& words = value.get_ref<const std::string&>();
  if (const auto at = invalidUtf8At(words); at != std::string::npos)
    return fail(field, validUtf8(words), "is not UTF-8 at byte " + std::to_string(at), "bad_text");
  if (const std::string fault = pathFault(words); arg.type == ArgType::Path && !fault.empty())
    return fail(field, value, fault);
  if (arg.words.empty() || std::find(arg.words.begin(), arg.words.end(), words) != arg.words.end()) return;
  std::string all;
  for (const std::string& word : arg.words) all += (all.empty() ? "" : ", ") + word;
  fail(field, value, "is none of " + all);
}

void VerbArgs::checkList(const ArgInfo& arg, const json& value) {
  const char* field = arg.name.c_str();
  if (!value.is_array()) return fail(field, value, "is not a list");
  if (value.size() < arg.least) return fail(field, value, "is empty", emptyCode(arg.type));
  const bool ids = arg.type == ArgType::Tokens || arg.type == ArgType::LedgerIds;
  for (std::size_t i = 0; i < value.size() && (ids || arg.type == ArgType::Numbers); ++i) {
    const bool good = ids ? whole(value[i], 0, static_cast<double>(kMostId)).has_value() : value[i].is_number();
    const std::string place = ", at place " + std::to_string(i);
    if (!good && ids)
      return fail(field, value[i], "holds something that is not an id from 0 to " + std::to_string(kMostId) + place);
    if (!good) return fail(field, value[i], "holds something that is not a number" + place);
  }
}

}  // namespace kvlab
