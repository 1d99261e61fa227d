// SPDX-License-Identifier: Apache-2.0
// Values of one KV head become zero, and only the query heads of its group may notice (Ainslie et al. 2023,
// arXiv:2305.13245). Layer by layer.
#include <algorithm>

#include "core/selftest/dense_run.h"
#include "core/selftest/head_rows.h"
#include "core/selftest/self_test_room.h"

namespace kvlab {

Result<SelfTestFigure> head_groupsSelfTest(SelfTestRoom& room) {
  if (!room.backend().onHost()) return skippedTest("the test computes on the CPU: give --backend cpu");
  const ModelConfig& config = room.config();
  const std::vector<std::int32_t> ids = room.ids(16);
  DenseRun run = KV_TRY(DenseRun::create(room.weights(), room.backend(), ids));
  run.run();
  const int group = config.heads / config.kvHeads;
  int wrong = 0;
  SelfTestFigure out{0, 0, "query heads", {}};
  for (const Layer layer : idRange<Layer>(0, config.layers)) {
    KV_TRY(room.tell("head_groups", layer.value(), config.layers));
    LayerWeights weights = room.weights()->layer(layer);
    weights.vBias = {};
    run.setWeights(PlacedWeights::withLayer(room.weights(), layer, weights));
    const std::vector<float> all = run.attended(layer);
    for (int kv = 0; kv < config.kvHeads; ++kv) {
      const HeadRows silenced = HeadRows::without(room.weights()->layer(layer).v, config.kvHeads, kv);
      if (!silenced) return skippedTest("the values of a head do not lie in rows of their own");
      weights.v = silenced.view();
      run.setWeights(PlacedWeights::withLayer(room.weights(), layer, weights));
      const std::vector<float> less = run.attended(layer);
      for (int head = 0; head < config.heads; ++head) {
        const auto from = static_cast<std::ptrdiff_t>(head) * config.headDim;
        const bool noticed = !std::equal(all.begin() + from, all.begin() + from + config.headDim, less.begin() + from);
        if (noticed == (head / group == kv)) continue;
        if (wrong++ == 0)
          out.says = "layer " + std::to_string(layer.value()) + ": query head " + std::to_string(head) +
              (noticed ? " reads" : " does not read") + " KV head " + std::to_string(kv);
      }
    }
  }
  run.setWeights(room.weights());
  out.figure = wrong;
  if (wrong == 0)
    out.says = std::to_string(config.layers) + " layers, " + std::to_string(config.heads) + " query heads on " +
        std::to_string(config.kvHeads) + " KV heads";
  return out;
}

}  // namespace kvlab
