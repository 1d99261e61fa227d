// SPDX-License-Identifier: Apache-2.0
// The reference rate for products: multiply-adds per second with all operands in registers, on all threads
// of the pool, in the vectors that run-time dispatch chose.
#pragma once

#include "kernels/context.h"

namespace kvlab::kernels {

/// Runs for about `seconds` per thread, with two roundings where the processor does not fuse.
double multiplyAddRate(const Context& context, double seconds);

}  // namespace kvlab::kernels
