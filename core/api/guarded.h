// SPDX-License-Identifier: Apache-2.0
// Catches exceptions (no memory, no threads, faults of the program) and turns them into errors. Any thread.
#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/error.h"

namespace kvlab {

/// Carries the error out of work that returns no Result: a fault of the program. The engine thread and the lanes catch
/// it and hand the error on as a value.
class ErrorThrown : public std::exception {
 public:
  explicit ErrorThrown(Error error) : m_error(std::move(error)), m_text(m_error.text()) {}
  const Error& error() const { return m_error; }
  const char* what() const noexcept override { return m_text.c_str(); }

 private:
  Error m_error;
  std::string m_text;
};

/// The error that the exception being handled stands for. `what`: the refused work. Codes: out_of_memory, internal, or
/// that of an ErrorThrown. For catch blocks.
Error caught(std::string_view what);

/// Result of `body`, or the error that it throws.
template <class Body>
auto guarded(std::string_view what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return caught(what);
  }
}

}  // namespace kvlab
