// SPDX-License-Identifier: Apache-2.0
// The rows that a change takes from the state before it. Whoever is about to overwrite slots, or lets rows go whose
// slots others will overwrite, says so first, and the log copies the rows to the host; history brings them back from
// there. Part of a CacheStore; copies nothing until begin(). Engine thread.
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "core/state/row_pool.h"
#include "core/state/slot_allocator.h"

namespace kvlab {

struct CacheState;

/// Records of rows of one state, [layers].
struct KeptRows {
  struct Rows {
    std::vector<LedgerId> ids;
    std::vector<std::uint8_t> records;  // [ids][stride]
  };
  std::vector<Rows> layers;  // or empty: no rows

  std::int64_t bytes() const;
  /// Takes over the rows of `other` that it lacks.
  void append(KeptRows other);
};

class RowLog {
 public:
  /// Forgets all rows. From now on rows of `state` are copied, at most so many bytes. The state lives until take().
  void begin(const CacheState& state, std::int64_t mostBytes);
  /// Rows of the state are written over from now on: only the log can bring them back.
  void overwrites() { m_overwritten = m_state != nullptr; }
  /// Copies the rows that the state has in these slots, unless they were copied before.
  void keep(const std::vector<RowPool>& pools, const LayerSlots& slots);
  /// Copies the same slots again, for the bug door: rows that were overwritten by then are lost.
  void keepLate(const std::vector<RowPool>& pools);
  /// Rows of the state move in place from now on; `back`, which takes no memory, moves them to where they were.
  void moves(std::function<void()> back) {
    overwrites();
    m_back = std::move(back);
  }
  /// Rows of the state were lost, or moved without being copied: the next take() returns none.
  void spoil() { m_spoilt = true; }
  bool spoilt() const { return m_spoilt; }
  /// Moves rows back, and writes the copied ones into the slots that they had, if any row was overwritten. False if the
  /// log lacks rows, and nothing was written.
  bool putBack(std::vector<RowPool>& pools);
  bool empty() const { return m_kept.layers.empty(); }
  /// Nothing is to be put back any more: the state goes on as it is.
  void end() {
    m_state = nullptr;
    m_overwritten = false;
    m_back = nullptr;
    m_kept = {};
    m_slots.clear();
  }
  /// The rows that were copied, which the log forgets; none if the log lacks rows.
  std::optional<KeptRows> take();

 private:
  /// Rows of the state, and the slots that they lie in.
  struct Found {
    std::vector<LedgerId> ids;
    std::vector<Slot> slots;
  };
  Found find(std::int32_t group, const std::vector<Slot>& sorted) const;
  RecordRead roomFor(std::size_t layer, std::size_t layers, const Found& rows, const RowPool& pool);

  const CacheState* m_state = nullptr;
  KeptRows m_kept;
  LayerSlots m_slots;  // [layers] slots whose rows were copied
  std::int64_t m_bytes = 0, m_most = 0;
  bool m_spoilt = false, m_overwritten = false;
  std::function<void()> m_back;  // null = nothing has moved
};

}  // namespace kvlab
