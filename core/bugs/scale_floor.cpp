// SPDX-License-Identifier: Apache-2.0
// lablup/mlxcel PR#717: max(scale, 1).
#include <algorithm>

#include "core/bugs/bug_file.h"
#include "core/bugs/written_scales.h"

namespace kvlab {
namespace {

void scaleFloor(const WrittenBend& bend) {
  changeScales(bend, [](float& scale) { scale = std::max(scale, 1.0f); });
}

}  // namespace

KVLAB_BUG_KIND(scale_floor, .written = scaleFloor)

}  // namespace kvlab
