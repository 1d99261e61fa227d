// SPDX-License-Identifier: Apache-2.0
// transformers#43082: position ids of a later chunk begin at 0.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void chunkPositionsRestart(PassBend& bend) {
  if (bend.before == 0) return;
  const std::int32_t first = bend.phase.front();
  for (std::int32_t& phase : bend.phase) phase -= first;
}

}  // namespace

KVLAB_BUG_KIND(chunk_positions_restart, .pass = chunkPositionsRestart)

}  // namespace kvlab
