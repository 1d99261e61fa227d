// SPDX-License-Identifier: Apache-2.0
// Carries the error out of work that returns no Result: a fault of the program. The engine thread and the lanes catch
// it and hand the error on as a value. Any thread.
#pragma once
#include <exception>
#include <string>
#include <utility>

#include "core/api/error.h"

namespace kvlab {

class ErrorThrown : public std::exception {
 public:
  explicit ErrorThrown(Error error) : m_error(std::move(error)), m_text(m_error.text()) {}
  const Error& error() const { return m_error; }
  const char* what() const noexcept override { return m_text.c_str(); }

 private:
  Error m_error;
  std::string m_text;
};

}  // namespace kvlab
