// SPDX-License-Identifier: Apache-2.0
// A window is no weight either. Layers with the same window are tried together: with a wider window, without one, and
// with one if they have none.
#include <algorithm>
#include <map>

#include "core/selftest/dense_run.h"
#include "core/selftest/self_test_room.h"
#include "core/selftest/text_fit.h"

namespace kvlab {
namespace {

constexpr std::size_t kFar = 768;  // tokens of a text that is to be longer than a window

std::string windowText(int window) { return window > 0 ? "a window of " + std::to_string(window) : "no window"; }

/// The layers of each window; 0 = none.
std::map<int, std::vector<Layer>> windowsOf(const ModelConfig& config) {
  std::map<int, std::vector<Layer>> out;
  for (const Layer l : idRange<Layer>(0, config.layers))
    out[config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[at(l)]].push_back(l);
  return out;
}

std::vector<int> othersOfWindow(int own, int tokens) {
  std::vector<int> out;
  if (own > 0) out.push_back(0);
  for (int window = own > 0 ? own * 2 : tokens / 2; own > 0 && window < tokens; window *= 2) out.push_back(window);
  for (int window = own > 0 ? own / 2 : tokens / 2; window >= tokens / 8 && window > 0; window /= 2)
    out.push_back(window);
  return out;
}

}  // namespace

Result<SelfTestFigure> windowSelfTest(SelfTestRoom& room) {
  if (!room.backend().onHost()) return skippedTest("the test computes on the CPU: give --backend cpu");
  const std::map<int, std::vector<Layer>> windows = windowsOf(room.config());
  const int widest = windows.rbegin()->first;
  const std::vector<std::int32_t> ids = room.ids(room.affordable(widest > 128 ? kFar : 256));
  const auto tokens = static_cast<int>(ids.size());
  DenseRun run = KV_TRY(DenseRun::create(room.weights(), room.backend(), ids));
  run.run();
  TextFit fit(KV_TRY(run.losses(Layer(room.config().layers))));
  std::string longer;
  for (const auto& [own, layers] : windows) {
    if (own >= tokens) longer = "; " + windowText(own) + " is longer than the text of " + std::to_string(tokens);
    if (own >= tokens) continue;
    for (const int other : othersOfWindow(own, tokens)) {
      KV_TRY(room.tell("window"));
      for (const Layer layer : layers) run.setWindow(layer, other);
      const std::vector<double> losses = KV_TRY(run.losses(layers.front()));
      fit.compare(losses,
                  windowText(other) + " in place of " + windowText(own) + " in " + std::to_string(layers.size()) +
                      " layers from layer " + std::to_string(layers.front().value()) + " on");
    }
    for (const Layer layer : layers) run.setWindow(layer, own);
  }
  if (fit.compared() == 0) return skippedTest("every window of the model is longer than the text");
  return fit.figure(room.config().vocab, longer);
}

}  // namespace kvlab
