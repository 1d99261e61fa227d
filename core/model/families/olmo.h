// SPDX-License-Identifier: Apache-2.0
// Parts that OLMo 2 and 3 share. Any thread.
#pragma once
#include "core/model/families/family.h"

namespace kvlab {

Status readOlmo(const JsonFields& in, ModelConfig& config);
LayerTensors olmoTensors(const ModelConfig& config, Layer layer);

}  // namespace kvlab
