// SPDX-License-Identifier: Apache-2.0
// Rows have moved in place, and the log lacks them where they stood: unless what follows is done, they are lost, and a
// rebuild makes them anew. On the stack; engine thread.
#pragma once
#include "core/state/row_log.h"

namespace kvlab {

class MovedInPlace {
 public:
  /// log: null = nothing has moved.
  explicit MovedInPlace(RowLog* log) : m_log(log) {}
  MovedInPlace(const MovedInPlace&) = delete;
  MovedInPlace& operator=(const MovedInPlace&) = delete;
  ~MovedInPlace() {
    if (m_log) m_log->spoil();
  }
  void done() { m_log = nullptr; }

 private:
  RowLog* m_log;
};

}  // namespace kvlab
