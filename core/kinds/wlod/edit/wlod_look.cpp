// SPDX-License-Identifier: Apache-2.0
// Passes of a wLOD session that only look: K and V that they compute are scratch.
#include <algorithm>
#include <optional>

#include "core/kinds/wlod/edit/wlod_mirror.h"
#include "core/kinds/wlod/edit/wlod_transaction.h"
#include "core/state/cache_store.h"

namespace kvlab {

Result<RowsBrought> WlodTransaction::look(const CacheState& state, const QueryPass& pass) {
  const WlodState& wlod = wlodIn(state);
  WlodJob job{.state = wlod};
  for (std::int32_t row = 0, position = 0; job.rows.size() < pass.positions.size(); ++row)
    if (wlod.rows[at(row)].entry && position++ == pass.positions[job.rows.size()]) job.rows.push_back(row);
  job.wanted = pass.wanted;
  job.layers = pass.layers;
  std::vector<Column<Slot>> slots;
  std::vector<MissingRows> missing;
  bool lacking = false;
  for (const CacheLayer layer : state.layers()) {
    const Column<Slot>& own = slots.emplace_back(slotsByRow(wlod, state.group(layer).stored()));
    MissingRows& gone = missing.emplace_back();
    for (const Slot slot : own) gone.push_back(slot.value() < 0);
    if (std::find(gone.begin(), gone.end(), true) == gone.end()) gone.clear();
    for (const std::int32_t row : job.rows) lacking = lacking || own[at(row)].value() < 0;
    job.windows.push_back(state.group(layer).window);
  }
  // K and V of rows that a layer does not hold are scratch of their chunk: a few slots serve all.
  const LayerSlots none(state.groupOf.size(), std::vector<Slot>(job.rows.size(), Slot(-1)));
  std::optional<LentSlots> lent;
  if (lacking) lent.emplace(m_store, KV_TRY(m_store.lend(std::ssize(job.rows), m_faults)));
  job.slots = slots;
  job.missing = missing;
  job.scratch = lent ? &lent->slots() : &none;
  job.perLayer = state.perLayer;
  job.tokenOf = [&](LedgerId id) { return state.ledger[id].token; };
  RowsBrought out = KV_TRY(computeWlodRows(m_transformer, m_store, m_faults, job, pass.progress));
  if (out.attention) out.attention = attentionOf(state, *out.attention);
  return out;
}

}  // namespace kvlab
