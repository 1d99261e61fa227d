// SPDX-License-Identifier: Apache-2.0
// Catches exceptions (no memory, no threads, faults of the program) and turns them into errors. Any thread.
#pragma once
#include <string_view>

#include "core/api/error.h"

namespace kvlab {

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
