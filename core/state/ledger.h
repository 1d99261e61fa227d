// SPDX-License-Identifier: Apache-2.0
// The ledger: an append-only list of every token ever seen. Rows are never moved or removed. Only their state, pin,
// last brightness and lineage change. Copies share chunks. Owned by a CacheState; engine thread.
#pragma once
#include "core/api/ledger_view.h"

namespace kvlab {

class Ledger : public LedgerView {
 public:
  LedgerId append(LedgerRow row);
  /// Returns a row for changing. Copies its chunk first if a snapshot or an older state shares it.
  LedgerRow& change(LedgerId id);
  /// A copy that shares no chunk, to be changed on another thread.
  Ledger ownCopy() const;
  LedgerId nextId() const { return LedgerId(static_cast<LedgerId::rep>(m_size)); }
};

}  // namespace kvlab
