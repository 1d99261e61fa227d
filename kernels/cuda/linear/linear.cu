// SPDX-License-Identifier: Apache-2.0
// A linear step: one kernel for few rows, else single ops one after another.
#include "kernels/cuda/linear/linear_parts.h"
#include "kernels/cuda/runtime/ops.h"

namespace kvlab::kernels::cuda {
namespace {

/// True if one kernel can do the whole call.
bool isOne(const LinearArgs& a) {
  if (a.m < 1 || a.m > kFewRows || a.k() < 1 || a.nParts < 1 || a.nParts > kLinearParts) return false;
  for (int i = 0; i < a.nParts; ++i)
    if (a.parts[i].w.type != a.parts[0].w.type || a.parts[i].w.n < 1) return false;
  if (isGated(a)) return a.nParts == 2 && a.parts[0].w.n == a.parts[1].w.n;
  return !a.out || a.nParts == 1;
}

bool few(void* stream, const LinearArgs& a, int32_t* error) {
  if (!isOne(a)) return false;
  switch (a.parts[0].w.type) {
    case DType::f32: return linearFew<DType::f32>(stream, a, error);
    case DType::f16: return linearFew<DType::f16>(stream, a, error);
    case DType::bf16: return linearFew<DType::bf16>(stream, a, error);
    case DType::i8: return linearFew<DType::i8>(stream, a, error);
    default: return false;
  }
}

}  // namespace

int32_t linear(void* stream, const LinearArgs& args) {
  int32_t error = 0;
  if (few(stream, args, &error)) return error;
  eachLinearStep(args, [&](const auto& op) {
    if (error == 0) error = runOp(stream, op);
  });
  return error;
}

}  // namespace kvlab::kernels::cuda
