// SPDX-License-Identifier: Apache-2.0
// The ledger: append-only list of every token ever seen. Rows are never moved or removed; only their
// state, pin, brightness at leaving and lineage change. Copies share chunks. Owned by a CacheState;
// engine thread.
#pragma once
#include "core/api/ledger_view.h"

namespace kvlab {

class Ledger : public LedgerView {
 public:
  LedgerId append(LedgerRow row);
  /// A row to change; its chunk is copied first if a snapshot or an older state shares it.
  LedgerRow& change(LedgerId id);
  /// The same rows in chunks that no other ledger shares, for another thread to change.
  Ledger ownCopy() const;
  LedgerId nextId() const { return LedgerId(static_cast<LedgerId::rep>(m_size)); }
};

}  // namespace kvlab
