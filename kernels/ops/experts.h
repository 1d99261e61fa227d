// SPDX-License-Identifier: Apache-2.0
// Ops of a mixture of experts besides linear steps: the choice, and rows that go to an expert and come back.
#pragma once

#include <cstdint>

#include "kernels/context.h"

namespace kvlab::kernels {

inline constexpr int32_t kExpertsMax = 1024;

struct RouteArgs {
  const float* scores = nullptr;  ///< [n, experts]
  int64_t n = 0;
  int32_t experts = 0;        ///< at most kExpertsMax
  int32_t top = 0;            ///< 1..experts
  bool normalised = true;     ///< the weights of the chosen add up to 1; else those of all experts would
  int32_t* chosen = nullptr;  ///< [n, top], largest score first, ties by lower index
  float* weights = nullptr;   ///< [n, top], softmax; sums go through the experts in ascending order
};

/// The experts of each row (Shazeer 2017, arXiv:1701.06538, equations 3 to 5 without noise).
void route(const Context&, const RouteArgs&);

struct TakeRowsArgs {
  const float* x = nullptr;       ///< [.., dim]
  const int32_t* rows = nullptr;  ///< [n]
  float* out = nullptr;           ///< [n, dim]; does not overlap x
  int64_t n = 0, dim = 0;
};

/// out[i] = x[rows[i]]
void takeRows(const Context&, const TakeRowsArgs&);

struct MixRowsArgs {
  const float* y = nullptr;        ///< [n, dim]
  const int32_t* rows = nullptr;   ///< [n], each row at most once
  const float* weights = nullptr;  ///< [n]
  float* x = nullptr;              ///< [.., dim]; does not overlap y
  int64_t n = 0, dim = 0;
};

/// x[rows[i]] += weights[i] * y[i], the product rounded first.
void mixRows(const Context&, const MixRowsArgs&);

}  // namespace kvlab::kernels
