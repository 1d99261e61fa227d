// SPDX-License-Identifier: Apache-2.0
// The kernel's name of a feed-forward network's function. Pure; any thread.
#pragma once
#include "core/model/files/config.h"
#include "kernels/ops/elementwise.h"

namespace kvlab {

inline kernels::GateFunction gateFunction(Activation activation) {
  switch (activation) {
    case Activation::Silu: return kernels::GateFunction::silu;
    case Activation::GeluTanh: return kernels::GateFunction::geluTanh;
    case Activation::ClampedSilu: return kernels::GateFunction::clampedSilu;
  }
  return kernels::GateFunction::silu;
}

}  // namespace kvlab
