// SPDX-License-Identifier: Apache-2.0
// VeloxQuant-MLX PR#463: the mask is not built for a single query.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void windowLostAtOne(PassBend& bend) {
  if (bend.window > 0 && bend.begin.size() == 1) bend.begin[0] = 0;
}

}  // namespace

KVLAB_BUG_KIND(window_lost_at_one, .pass = windowLostAtOne)

}  // namespace kvlab
