// SPDX-License-Identifier: Apache-2.0
// lablup/mlxcel PR#717: max(scale, 1).
#include <algorithm>

#include "core/bugs/bug_file.h"
#include "core/bugs/written_scales.h"
#include "kernels/row_quant.h"

namespace kvlab {
namespace {

void scaleFloor(const WrittenBend& bend) {
  changeScales(bend, [](const HeadCodes& head) {
    const float floored = std::max(head.scale, 1.0f);
    for (std::uint8_t& code : head.codes)
      code = kernels::quantCode(kernels::codeValue(code, head.type) * head.scale / floored, head.type);
    head.scale = floored;
  });
}

}  // namespace

KVLAB_BUG_KIND(scale_floor, .written = scaleFloor)

}  // namespace kvlab
