// SPDX-License-Identifier: Apache-2.0
// The codes that errors can have, with their meanings: for lists, manuals and tests. Values; any thread.
#pragma once
#include <span>
#include <string_view>

namespace kvlab {

struct ErrorCode {
  std::string_view code, meaning;  // the meaning is one sentence
};

/// Every code that an error of the program can have, in the order of the alphabet.
std::span<const ErrorCode> errorCodes();

}  // namespace kvlab
