// SPDX-License-Identifier: Apache-2.0
// FlashML/FreeToken PR#309, TensorRT-LLM PR#16916: codes are read without their scales.
#include "core/bugs/bug_file.h"
#include "core/bugs/written_scales.h"

namespace kvlab {
namespace {

void scaleIsOne(const WrittenBend& bend) {
  changeScales(bend, [](const HeadCodes& head) { head.scale = 1; });
}

}  // namespace

KVLAB_BUG_KIND(scale_is_one, .written = scaleIsOne)

}  // namespace kvlab
