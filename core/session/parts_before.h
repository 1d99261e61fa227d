// SPDX-License-Identifier: Apache-2.0
// Pools, settings and the places of the present rows, which a change may replace. They come back when this object ends,
// unless the change is kept. Changes may stand within others. On the stack; engine thread.
#pragma once
#include "core/session/session.h"

namespace kvlab {

class PartsBefore {
 public:
  explicit PartsBefore(Session& session);
  PartsBefore(const PartsBefore&) = delete;
  PartsBefore& operator=(const PartsBefore&) = delete;
  ~PartsBefore();
  /// The change is made.
  void keep() { m_kept = true; }

 private:
  void putBack();
  void handOut();

  Session& m_session;
  ReplacedParts m_replaced;
  ReplacedParts* m_outer;
  Manifest m_manifest;
  std::int64_t m_capacity;
  std::int32_t m_maxPhases;
  History::Stand m_stand;
  bool m_kept = false;
};

}  // namespace kvlab
