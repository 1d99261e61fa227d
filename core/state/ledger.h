// SPDX-License-Identifier: Apache-2.0
// The ledger: an append-only list of every token ever seen. Rows are never moved or removed. Only their state, pin,
// last brightness and lineage change. Copies share chunks. Owned by a CacheState; engine thread.
#pragma once
#include "core/api/ledger_view.h"

namespace kvlab {

class Ledger : public LedgerView {
 public:
  using LedgerView::append;
  using LedgerView::bytesBeside;
  using LedgerView::change;
  /// A copy that shares no chunk, to be changed on another thread.
  Ledger ownCopy() const {
    Ledger copy = *this;
    copy.unshare();
    return copy;
  }
  LedgerId nextId() const { return LedgerId(static_cast<LedgerId::rep>(size())); }
};

}  // namespace kvlab
