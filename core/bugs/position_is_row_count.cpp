// SPDX-License-Identifier: Apache-2.0
// VeloxQuant-MLX#171, transformers#35350: the offset is the number of kept rows, not the position.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void positionIsRowCount(PassBend& bend) {
  for (std::size_t i = 0; i < bend.phase.size(); ++i) bend.phase[i] = bend.end[i] - 1;
}

}  // namespace

KVLAB_BUG_KIND(position_is_row_count, .pass = positionIsRowCount)

}  // namespace kvlab
