// SPDX-License-Identifier: Apache-2.0
// Calls that run out of memory: their exception becomes an error, and the session is as it was. Engine thread.
#pragma once
#include "core/api/guarded.h"
#include "core/session/session.h"

namespace kvlab {

/// Frees all slots that neither the present state nor history names. No tick may be open.
void freeUnnamed(Session& session);
/// Brings back the rows that a call has overwritten, and frees the slots that it had taken. False if the log lacks some
/// rows; then nothing has changed.
bool regain(Session& session);

/// Result of `body`, or the error that it throws. As with other failed calls, call.poolsTouched tells whether rows are
/// lost.
template <class Body>
auto inCall(Session& session, CallContext& call, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    Error error = caught("the call was refused");
    call.poolsTouched = !regain(session);
    return error;
  }
}

}  // namespace kvlab
