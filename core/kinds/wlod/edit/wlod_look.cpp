// SPDX-License-Identifier: Apache-2.0
// Passes of a wLOD session that only look: K and V that they compute are scratch.
#include <algorithm>
#include <optional>

#include "core/kinds/wlod/edit/wlod_mirror.h"
#include "core/kinds/wlod/edit/wlod_transaction.h"
#include "core/state/cache_store.h"

namespace kvlab {

Result<WlodResult> WlodTransaction::look(const CacheState& state, WlodJob& job, const Progress& progress) {
  std::vector<Column<Slot>> slots;
  std::vector<MissingRows> missing;
  bool lacking = false;
  for (const CacheLayer layer : state.layers()) {
    const Column<Slot>& own = slots.emplace_back(slotsByRow(wlodIn(state), state.group(layer).stored()));
    MissingRows& gone = missing.emplace_back();
    for (const Slot slot : own) gone.push_back(slot.value() < 0);
    if (std::find(gone.begin(), gone.end(), true) == gone.end()) gone.clear();
    for (const std::int32_t row : job.rows) lacking = lacking || own[at(row)].value() < 0;
    job.windows.push_back(state.group(layer).window);
  }
  // K and V of rows that a layer does not hold are scratch of their chunk: a few slots serve all.
  const LayerSlots none(state.groupOf.size(), std::vector<Slot>(job.rows.size(), Slot(-1)));
  std::optional<LentSlots> lent;
  if (lacking) {
    const auto rows = static_cast<std::int32_t>(job.rows.size());
    lent.emplace(m_store, KV_TRY(m_store.lend(std::clamp(m_store.available(Placing::Look), 1, rows), m_faults)));
  }
  job.slots = slots;
  job.missing = missing;
  job.scratch = lent ? &lent->slots() : &none;
  job.perLayer = state.perLayer;
  job.tokenOf = [&](LedgerId id) { return state.ledger[id].token; };
  return computeWlodRows(m_transformer, m_store, m_faults, job, progress);
}

Result<Observation> WlodTransaction::observe(const CacheState& state, std::int32_t queries, std::int32_t momentsFrom,
                                             Trace& trace, const Progress& progress) {
  WlodJob job{.state = wlodIn(state)};
  for (std::int32_t row = wlodIn(state).count() - 1; row >= 0; --row) {
    if (queries && std::ssize(job.rows) == queries) break;
    if (const WlodRow& one = wlodIn(state).rows[at(row)]; one.entry && one.node.level == 0) job.rows.push_back(row);
  }
  std::reverse(job.rows.begin(), job.rows.end());
  Observation out{nullptr, {}, static_cast<std::int32_t>(job.rows.size())};
  if (job.rows.empty()) return out;
  auto scope = trace.scope("observe_prompt", std::to_string(out.queries) + (out.queries == 1 ? " query" : " queries"));
  job.wanted = {.receivedPerHead = InLayers::All, .momentsFrom = momentsFrom};
  const WlodResult result = KV_TRY(look(state, job, progress));
  out.attention = attentionOf(state, result);
  out.moments = result.moments;
  return out;
}

Result<std::shared_ptr<const NewestAttention>> WlodTransaction::attended(const CacheState& state, Position query,
                                                                         int layers) {
  WlodJob job{.state = wlodIn(state)};
  std::int32_t position = -1;
  for (std::int32_t row = 0; job.rows.empty() && row < wlodIn(state).count(); ++row)
    if (wlodIn(state).rows[at(row)].entry && ++position == query.value()) job.rows.push_back(row);
  if (job.rows.empty() || wlodIn(state).rows[at(job.rows[0])].node.level > 0)
    return std::shared_ptr<const NewestAttention>();
  job.layers = layers;
  job.wanted = {.receivedPerHead = InLayers::Last};
  const WlodResult result = KV_TRY(look(state, job, {}));
  return attentionOf(state, result);
}

}  // namespace kvlab
