// SPDX-License-Identifier: Apache-2.0
// Parts that Gemma 2 and 3 share. Any thread.
#pragma once
#include "core/model/families/family.h"

namespace kvlab {

/// A soft cap; a key that is absent or null means none.
Status readCap(const JsonFields& in, const char* key, double& cap);
/// Norms, activation, scales, the cap of logits, and the width of the window.
Status readGemma(const JsonFields& in, ModelConfig& config);
LayerTensors gemmaTensors(const ModelConfig& config, Layer layer);

}  // namespace kvlab
