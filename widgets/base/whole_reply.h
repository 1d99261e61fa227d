// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a reply that is of no use unless all of it is there: figures of a measurement, the columns of a tree. Single
// members are read by core/api/read_json.h. Pure.
#pragma once
#include "core/api/error.h"

namespace kvlab {

/// The result of `read` on a reply with at() and get(), which throw where a member is missing or of another type:
/// `bad_reply` then. `what` was not shown.
template <class Read>
auto wholeReply(const char* what, const char* remedy, const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::exception& error) {
    return Error("bad_reply", what, error.what(), remedy);
  }
}

}  // namespace kvlab
