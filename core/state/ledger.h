// SPDX-License-Identifier: Apache-2.0
// The ledger: an append-only list of every token ever seen. Rows are never moved or removed. Only their state, pin,
// last brightness and lineage change; pins go through pin(), which counts them. Copies share chunks. Owned by a
// CacheState; engine thread.
#pragma once
#include "core/api/ledger_view.h"

namespace kvlab {

class Ledger : public LedgerView {
 public:
  using LedgerView::bytesBeside;
  using LedgerView::change;
  LedgerId append(LedgerRow row) {
    m_pins += row.pinned;
    return LedgerView::append(std::move(row));
  }
  void pin(LedgerId id, bool on) {
    bool& pinned = change(id).pinned;
    m_pins += int{on} - int{pinned};
    pinned = on;
  }
  /// Number of pinned rows, with those that have left.
  int pins() const { return m_pins; }
  /// A copy that shares no chunk, to be changed on another thread.
  Ledger ownCopy() const {
    Ledger copy = *this;
    copy.unshare();
    return copy;
  }
  LedgerId nextId() const { return LedgerId(static_cast<LedgerId::rep>(size())); }

 private:
  int m_pins = 0;
};

}  // namespace kvlab
