// SPDX-License-Identifier: Apache-2.0
// kvcached#362, vllm#49449: a state is found again after its rows were overwritten.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

void keptStateOutlived(StateBend& bend) { bend.store.keepLate(); }

}  // namespace

KVLAB_BUG_KIND(kept_state_outlived, .state = keptStateOutlived)

}  // namespace kvlab
