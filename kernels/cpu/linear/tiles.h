// SPDX-License-Identifier: Apache-2.0
// Products of integers by tiles (AMX). matmulQ8() chooses them by itself, where processor and system have them and a
// trial gives what the emulation gives. Any thread.
#pragma once
#include "kernels/ops/matmul.h"

namespace kvlab::kernels {

/// True if this process may use tiles of 8-bit integers. Asks Linux for them, once (Documentation/arch/x86/xstate.rst).
bool hasTiles();

/// matmulQ8() with emulated tiles where there are 16 rows or more: the same bits, on every processor. For tests.
void matmulQ8Emulated(const Context&, const MatmulArgs&);

}  // namespace kvlab::kernels
