// SPDX-License-Identifier: Apache-2.0
// transformers#46629, mlx-lm PR#1109: rejected tokens leave the context, and a ring that has wrapped goes on behind
// them.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void trimAfterWrapIgnored(StateBend& bend) {
  if (!bend.cutsTail()) return;
  for (const CacheLayer layer : bend.state.layers())
    bend.state.groups[at(bend.state.groupOf[at(layer)])].ring = bend.before.group(layer).ring;
}

}  // namespace

KVLAB_BUG_KIND(trim_after_wrap_ignored, .state = trimAfterWrapIgnored)

}  // namespace kvlab
