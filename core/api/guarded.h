// SPDX-License-Identifier: Apache-2.0
// The one place where exceptions become errors: around every verb of the engine, and around every reply, command and
// event of the window. Any thread.
#pragma once
#include <string_view>

#include "core/api/error_thrown.h"

namespace kvlab {

/// The error of the exception that is being handled. `what` was stopped by it.
Error errorCaught(std::string_view what);

/// What `body` returns, which is a Result. An exception becomes its error.
template <class Body>
auto guarded(std::string_view what, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return errorCaught(what);
  }
}

}  // namespace kvlab
