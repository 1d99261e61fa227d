// SPDX-License-Identifier: Apache-2.0
#include "kernels/numerics.h"

#include "kernels/cpu/runtime/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/runtime/numerics.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kvlab::kernels::HWY_NAMESPACE {

const char* targetNameTarget() { return hwy::TargetName(HWY_TARGET); }

const char* numericsIdTarget() {
#if HWY_TARGET == HWY_SSE4
  return "portable-muladd";
#else
  return "portable-fma";
#endif
}

}  // namespace kvlab::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvlab::kernels {
HWY_EXPORT(targetNameTarget);
HWY_EXPORT(numericsIdTarget);

const char* targetName() { return HWY_DYNAMIC_DISPATCH(targetNameTarget)(); }
const char* numericsId() { return HWY_DYNAMIC_DISPATCH(numericsIdTarget)(); }

}  // namespace kvlab::kernels
#endif  // HWY_ONCE
