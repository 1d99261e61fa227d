// SPDX-License-Identifier: Apache-2.0
// The window of Qwen models. Any thread.
#pragma once
#include "core/model/families/reading.h"

namespace kvlab {

/// Where use_sliding_window is true, layer_types say which layers have it, else max_window_layers.
Status readQwenWindow(const JsonFields& in, ModelConfig& config);

}  // namespace kvlab
