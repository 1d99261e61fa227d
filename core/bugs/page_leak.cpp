// SPDX-License-Identifier: Apache-2.0
// sglang#27789, PR#27586: the count of free pages is one short after each eviction.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void pageLeak(StateBend& bend) {
  for (std::vector<Slot>& freed : bend.freed)
    if (!freed.empty()) return freed.pop_back();
}

}  // namespace

KVLAB_BUG_KIND(page_leak, .state = pageLeak)

}  // namespace kvlab
