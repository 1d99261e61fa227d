// SPDX-License-Identifier: Apache-2.0
#include "core/model/families/experts.h"

#include "kernels/ops/experts.h"

namespace kvlab {

Status readExperts(const JsonFields& in, ModelConfig& c, const char* key) {
  const char* there = in.has(key) ? key : "num_local_experts";
  KV_TRY(in.number(there, c.experts, 1, kernels::kExpertsMax));
  return in.number("num_experts_per_tok", c.expertsUsed, 1, c.experts);
}

}  // namespace kvlab
