// SPDX-License-Identifier: Apache-2.0
// What a single entry of a wLOD session attends to.
#include "core/edit/wlod_mirror.h"
#include "core/edit/wlod_rows.h"
#include "core/edit/wlod_transaction.h"

namespace kvlab {

Result<std::shared_ptr<const NewestAttention>> WlodTransaction::attended(const CacheState& state, Position query,
                                                                         int layers) {
  WlodJob job{.state = *state.wlod};
  std::int32_t position = -1;
  for (std::int32_t row = 0; job.rows.empty() && row < state.wlod->count(); ++row)
    if (state.wlod->rows[at(row)].entry && ++position == query.value()) job.rows.push_back(row);
  if (job.rows.empty() || state.wlod->rows[at(job.rows[0])].node.level > 0)
    return std::shared_ptr<const NewestAttention>();
  job.layers = layers;
  job.wanted = {.receivedPerHead = InLayers::Last};
  const WlodResult result = KV_TRY(look(state, job, {}));
  return attentionOf(state, result);
}

}  // namespace kvlab
