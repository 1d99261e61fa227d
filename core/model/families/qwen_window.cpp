// SPDX-License-Identifier: Apache-2.0
#include "core/model/families/qwen_window.h"

namespace kvlab {

Status readQwenWindow(const JsonFields& in, ModelConfig& c) {
  bool use = false;
  int first = 0;
  KV_TRY(in.flag("use_sliding_window", use, false));
  if (use) KV_TRY(readWindow(in, c, 4096));
  KV_TRY(in.number("max_window_layers", first, 0, 1 << 20, 28));
  KV_TRY(readLayerTypes(in, c, [&](int layer) { return c.slidingWindow > 0 && layer >= first; }));
  return ok();
}

}  // namespace kvlab
