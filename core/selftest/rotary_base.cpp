// SPDX-License-Identifier: Apache-2.0
// The base of rotation is no weight, so that a wrong one in a configuration loads without a complaint. The checkpoint's
// own must predict a text better than others do.
#include <algorithm>
#include <cstdio>

#include "core/selftest/dense_run.h"
#include "core/selftest/self_test_room.h"
#include "core/selftest/text_fit.h"

namespace kvlab {
namespace {

constexpr double kBases[] = {1e4, 1e5, 5e5, 1e6}, kFactors[] = {0.01, 0.1, 10, 100};

std::string plainNumber(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", value);
  return out;
}

std::vector<double> othersOf(double own) {
  std::vector<double> out(std::begin(kBases), std::end(kBases));
  for (const double factor : kFactors) out.push_back(own * factor);
  std::erase_if(out, [own](double base) { return base == own || base < 100; });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

Result<SelfTestFigure> rotary_baseSelfTest(SelfTestRoom& room) {
  if (!room.backend().onHost()) return skippedTest("the test computes on the CPU: give --backend cpu");
  const std::vector<std::int32_t> ids = room.ids(room.affordable(256));
  const auto lossesWith = [&](std::shared_ptr<const PlacedWeights> weights) -> Result<std::vector<double>> {
    DenseRun run = KV_TRY(DenseRun::create(std::move(weights), room.backend(), ids));
    run.run();
    return run.losses(Layer(room.config().layers));
  };
  TextFit fit(KV_TRY(lossesWith(room.weights())));
  for (std::size_t i = 0; i < room.config().ropes.size(); ++i) {
    const Rope& own = room.config().ropes[i];
    if (own.kind == Rope::Kind::Off) continue;
    for (const double base : othersOf(own.theta)) {
      KV_TRY(room.tell("rotary_base"));
      ModelConfig config = room.config();
      config.ropes[i].theta = base;
      const std::vector<double> other = KV_TRY(lossesWith(PlacedWeights::withConfig(room.weights(), config)));
      fit.compare(other, "base " + plainNumber(base) + " in place of " + plainNumber(own.theta));
    }
  }
  if (fit.compared() == 0) return skippedTest("positions turn nothing in this model");
  return fit.figure(room.config().vocab);
}

}  // namespace kvlab
