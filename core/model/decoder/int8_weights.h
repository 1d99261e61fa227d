// SPDX-License-Identifier: Apache-2.0
// A model whose matrices hold int8 codes with one f32 scale per output: half the bytes of f16, read once per
// token. Embedding, norms and biases stay as they are; a head that shares the embedding's weights gets codes of
// its own. Symmetric, to nearest even, as kernels/row_quant.h has it for a head of a row.
#pragma once
#include <memory>

#include "core/model/model.h"

namespace kvlab {

/// Keeps `model` alive and shares its other weights. Progress counts bytes of codes. Errors: out_of_memory, cancelled.
Result<std::shared_ptr<const Model>> withInt8Weights(std::shared_ptr<const Model> model, const Progress& progress = {});

}  // namespace kvlab
