// SPDX-License-Identifier: Apache-2.0
// vllm#49716, kvcached#424: the stride of scales is counted without what pads a page.
#include "core/bugs/bug_file.h"
#include "core/bugs/written_scales.h"

namespace kvlab {
namespace {

void scaleOfNeighbour(const WrittenBend& bend) {
  if (bend.length <= 64 || bend.slots.empty() || bend.slots.back() == 0) return;
  takeScales(bend.pool, Slot(bend.slots.back() - 1), Slot(bend.slots.back()));
}

}  // namespace

KVLAB_BUG_KIND(scale_of_neighbour, .written = scaleOfNeighbour)

}  // namespace kvlab
