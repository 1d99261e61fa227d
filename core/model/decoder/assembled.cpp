// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/assembled.h"

namespace kvlab {

void assemble(const kernels::OpTable& ops, const kernels::Context& context, const Assembled& to,
              const std::uint8_t* pool, const kernels::RowFormat& format, std::int64_t* wrong) {
  if (!to.records) return;
  if (to.moves) {
    ops.moveRows(context, {pool, to.records, format, to.moves, to.nMoves, to.rows});
  } else {
    ops.gatherRows(context, {pool, format, to.from, to.rows, to.k, to.v});
    ops.writeRows(
        context,
        {.pool = to.records, .fmt = to.format, .k = to.k, .v = to.v, .tags = to.tags, .slots = to.to, .n = to.rows});
  }
  if (to.verdicts)  // dequantised rows got their tags above, so the pool is verified
    ops.verifyRows(context,
                   {.pool = to.moves ? to.records : pool,
                    .fmt = to.moves ? to.format : format,
                    .slots = to.seen,
                    .tags = to.seenTags,
                    .n = to.nSeen,
                    .verdicts = to.verdicts,
                    .bad = wrong});
}

}  // namespace kvlab
