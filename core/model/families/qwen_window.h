// SPDX-License-Identifier: Apache-2.0
// The window of Qwen models. Any thread.
#pragma once
#include "core/model/families/reading.h"

namespace kvlab {

/// If use_sliding_window is true, layer_types names the layers with a window; without layer_types max_window_layers
/// does.
Status readQwenWindow(const JsonFields& in, ModelConfig& config);

}  // namespace kvlab
