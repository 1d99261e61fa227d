// SPDX-License-Identifier: Apache-2.0
// llama.cpp PR#24875, vllm PR#27431: keys keep the short factors when the context needs the long ones.
#include "core/bugs/bug_file.h"
#include "core/model/decoder/frequencies.h"

namespace kvlab {
namespace {

std::int64_t ropeFactorSwitch(const ModelConfig& config, std::int64_t reach) {
  for (const Rope& rope : config.ropes)
    if (rope.followsLength()) reach = std::min(reach, lengthOfChange(rope));
  return reach;
}

}  // namespace

KVLAB_BUG_KIND(rope_factor_switch, .reach = ropeFactorSwitch)

}  // namespace kvlab
