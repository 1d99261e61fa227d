// SPDX-License-Identifier: Apache-2.0
// Rows of heads of 256 values read in place.
#include "kernels/cpu/runtime/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_stream_256.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/attention/attention_stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

void streamBlock256([[maybe_unused]] const Call& c, [[maybe_unused]] const Item& item,
                    [[maybe_unused]] const Buffers& b, [[maybe_unused]] int64_t start,
                    [[maybe_unused]] int64_t blockOfTile) {
  if constexpr (256 / 2 % kLanes == 0) streamBlock<256 / kLanes>(c, item, b, start, blockOfTile);
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
