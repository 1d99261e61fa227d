// SPDX-License-Identifier: Apache-2.0
// transformers#47433: crop(0) keeps all rows, and crop(-5) of 3 rows keeps 1.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void cropZero(StateBend& bend) {
  if (!bend.cutsTail()) return;
  bend.state.groups = bend.before.groups;
  bend.state.groupOf = bend.before.groupOf;
}

}  // namespace

KVLAB_BUG_KIND(crop_zero, .state = cropZero)

}  // namespace kvlab
