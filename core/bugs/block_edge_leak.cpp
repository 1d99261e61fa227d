// SPDX-License-Identifier: Apache-2.0
// tt-metal#48899: history reaches the block size of the kernel, and what lies before the block is lost.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void blockEdgeLeak(PassBend& bend) {
  for (std::size_t i = 0; i < bend.end.size(); ++i)
    if (bend.end[i] % 64 == 1 && bend.end[i] > 64) bend.begin[i] = bend.end[i] - 1;
}

}  // namespace

KVLAB_BUG_KIND(block_edge_leak, .pass = blockEdgeLeak)

}  // namespace kvlab
