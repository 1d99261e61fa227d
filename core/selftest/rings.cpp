// SPDX-License-Identifier: Apache-2.0
// A ring of W rows gives the results of a window of W over rows that all stay: while it fills, at its wraps, and with
// chunks of a prompt that are longer than the ring.
#include <algorithm>

#include "core/selftest/self_test_room.h"

namespace kvlab {
namespace {

/// Behind each step, so that every place of the pointer is met.
Result<std::vector<std::vector<float>>> ringLogits(const SelfTestRoom& room, const nlohmann::json& more, int prompt) {
  const std::vector<std::int32_t> ids = room.ids(at(prompt) + 20);
  std::unique_ptr<Session> session = KV_TRY(room.prompted(std::span(ids).first(at(prompt)), more));
  std::vector<std::vector<float>> out{logitsOf(*session)};
  for (std::size_t i = at(prompt); i < ids.size(); ++i) {
    KV_TRY(stepIds(*session, std::span(ids).subspan(i, 1)));
    out.push_back(logitsOf(*session));
  }
  return out;
}

int smallestWindow(const ModelConfig& config) {
  int out = 16;
  if (config.slidingWindow > 0) out = std::min(out, config.slidingWindow);
  for (const int window : config.windowPerLayer)
    if (window > 0) out = std::min(out, window);
  return out;
}

}  // namespace

Result<SelfTestFigure> ringsSelfTest(SelfTestRoom& room) {
  const int window = smallestWindow(room.config());
  const nlohmann::json masks = {{{"match", "0-" + std::to_string(room.config().layers - 1)}, {"window", window}}};
  SelfTestFigure out{0, room.rounds() ? 0.1 : 1e-3, "of the spread of logits", {}};
  for (const int prompt : {window / 2, 2 * window + window / 2}) {
    const auto wanted = KV_TRY(ringLogits(room, {{"layers", masks}, {"capacity", 128}}, prompt));
    for (const char* layout : {"ring_roll", "ring_pointer", "ring_lut", "ring_block_roll", "ring_fused"}) {
      KV_TRY(room.tell("rings"));
      const auto got = KV_TRY(ringLogits(room, {{"layout", layout}, {"ring", {{"window", window}}}}, prompt));
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double apart = logitsApart(got[i], wanted[i]);
        if (apart <= out.figure) continue;
        out.figure = apart;
        out.says = "worst in " + std::string(layout) + ", " + std::to_string(i) + " steps behind a prompt of " +
            std::to_string(prompt);
      }
    }
  }
  if (out.says.empty()) out.says = "five layouts, a ring of " + std::to_string(window) + " rows";
  return out;
}

}  // namespace kvlab
