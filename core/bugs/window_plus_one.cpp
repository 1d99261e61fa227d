// SPDX-License-Identifier: Apache-2.0
// mlx-lm PR#390, mlx-swift-lm PR#42: "128 or 129?"
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void windowPlusOne(PassBend& bend) {
  for (std::int32_t& begin : bend.begin)
    if (bend.window > 0 && begin > 0) --begin;
}

}  // namespace

KVLAB_BUG_KIND(window_plus_one, .pass = windowPlusOne)

}  // namespace kvlab
