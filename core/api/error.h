// SPDX-License-Identifier: Apache-2.0
// Errors are values: what happened, why, and what to do next. errorCodes() lists the codes that they can have, with
// their meanings, for lists, manuals and tests. Any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace kvlab {

/// code is a stable snake_case word that scripts compare with (expectError); the list is errorCodes().
struct Error {
  std::string code;
  std::string what;           // the refused or failed work
  std::string why;            // the cause, with the figures
  std::string remedy;         // the next step
  std::optional<int> action;  // place in an action list, from 0
  std::string field;          // name of the offending field or manifest key
  nlohmann::json value;       // the offending value

  Error() = default;
  Error(std::string code, std::string what, std::string why, std::string remedy, std::string field = {},
        nlohmann::json value = {});
  /// An error in one action of a list.
  Error(std::string code, std::string what, std::string why, std::string remedy, std::optional<int> action,
        std::string field = {}, nlohmann::json value = {});

  /// One line: "what: why; remedy".
  std::string text() const;
  nlohmann::json toJson() const;
  static Error fromJson(const nlohmann::json& json);
};

/// A value or an Error. KV_TRY is the idiom at every seam.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return m_state.index() == 0; }
  T& operator*() { return std::get<0>(m_state); }
  const T& operator*() const { return std::get<0>(m_state); }
  T* operator->() { return &std::get<0>(m_state); }
  const T* operator->() const { return &std::get<0>(m_state); }
  T&& take() { return std::get<0>(std::move(m_state)); }
  const Error& error() const { return std::get<1>(m_state); }

 private:
  std::variant<T, Error> m_state;
};

/// Success or an Error.
using Status = Result<std::monostate>;
inline Status ok() { return std::monostate{}; }

/// The value of a Result, or out of the function with its Error:
///   const json manifest = KV_TRY(readManifest(path));
///   KV_TRY(checkModel(manifest));
/// It is a statement of its own, or all of an initialiser, of the right side of an assignment or of an argument list.
#define KV_TRY(...)                   \
  (__extension__({                    \
    auto tried = (__VA_ARGS__);       \
    if (!tried) return tried.error(); \
    tried.take();                     \
  }))

struct ErrorCode {
  std::string_view code, meaning;  // the meaning is one sentence
};

/// Every code that an error of the program can have, in the order of the alphabet.
std::span<const ErrorCode> errorCodes();

}  // namespace kvlab
