// SPDX-License-Identifier: Apache-2.0
// Heads of a projection that stand in another order than the others expect load without a complaint, too. In each layer
// two KV heads change places, in K, in V, or in both, and two neighbours among the query heads. A short text chooses
// the swaps that a long one looks at: some of hundreds gain on a short text by chance.
#include <algorithm>
#include <functional>
#include <optional>

#include "core/selftest/dense_run.h"
#include "core/selftest/head_rows.h"
#include "core/selftest/self_test_room.h"
#include "core/selftest/text_fit.h"

namespace kvlab {
namespace {

constexpr std::size_t kShort = 64, kLong = 512;  // tokens
constexpr std::size_t kChosen = 8;
constexpr double kChance = 0.01;  // nats a token that a swap must gain on the short text to be chosen

struct HeadSwap {
  Layer layer;
  bool q, k, v;  // the parts whose heads swap
  int a, b;
  double gain = 0;  // on the short text
};

std::string textOf(const HeadSwap& swap) {
  const std::string heads = swap.q ? "query heads "
      : swap.k && swap.v           ? "KV heads "
      : swap.k                     ? "key heads "
                                   : "value heads ";
  return heads + std::to_string(swap.a) + " and " + std::to_string(swap.b) + " of layer " +
      std::to_string(swap.layer.value()) + " swapped";
}

std::vector<HeadSwap> swapsOf(const ModelConfig& config) {
  std::vector<HeadSwap> out;
  for (const Layer layer : idRange<Layer>(0, config.layers)) {
    for (int a = 0; a < config.kvHeads; ++a)
      for (int b = a + 1; b < config.kvHeads; ++b) {
        out.push_back({layer, false, true, true, a, b});
        out.push_back({layer, false, true, false, a, b});
        out.push_back({layer, false, false, true, a, b});
      }
    for (int a = 0; a + 1 < config.heads; ++a) out.push_back({layer, true, false, false, a, a + 1});
  }
  return out;
}

/// A projection and its bias with two heads in each other's place.
class SwappedPart {
 public:
  SwappedPart(TensorView& weight, TensorView& bias, int heads, const HeadSwap& swap)
      : m_matrix(HeadRows::swapped(weight, heads, swap.a, swap.b)),
        m_bias(HeadRows::swapped(bias, heads, swap.a, swap.b)) {
    fits = m_matrix && (m_bias || !bias);
    if (fits) weight = m_matrix.view();
    if (fits && bias) bias = m_bias.view();
  }
  bool fits = false;  // the rows of a head lie together

 private:
  HeadRows m_matrix, m_bias;
};

/// Empty where heads have no rows of their own.
Result<std::vector<double>> lossesWith(const SelfTestRoom& room, DenseRun& run, const HeadSwap& swap) {
  LayerWeights other = room.weights()->layer(swap.layer);
  std::vector<SwappedPart> parts;
  parts.reserve(2);
  const int kvHeads = room.config().kvHeads;
  if (swap.q) parts.emplace_back(other.q, other.qBias, room.config().heads, swap);
  if (swap.k) parts.emplace_back(other.k, other.kBias, kvHeads, swap);
  if (swap.v) parts.emplace_back(other.v, other.vBias, kvHeads, swap);
  if (!std::ranges::all_of(parts, &SwappedPart::fits)) return std::vector<double>();
  run.setWeights(PlacedWeights::withLayer(room.weights(), swap.layer, other));
  Result<std::vector<double>> losses = run.losses(swap.layer);
  run.setWeights(room.weights());
  return losses;
}

/// The swaps that gain most on the short text; none where heads have no rows of their own.
Result<std::optional<std::vector<HeadSwap>>> chosenSwaps(const SelfTestRoom& room, DenseRun& run, double own) {
  std::vector<HeadSwap> out;
  for (HeadSwap& swap : swapsOf(room.config())) {
    KV_TRY(room.tell("head_order", swap.layer.value(), room.config().layers));
    const std::vector<double> losses = KV_TRY(lossesWith(room, run, swap));
    if (losses.empty()) return std::optional<std::vector<HeadSwap>>();
    swap.gain = own - TextFit(losses).ownMean();
    if (swap.gain > kChance) out.push_back(swap);
  }
  std::ranges::sort(out, std::greater(), &HeadSwap::gain);
  if (out.size() > kChosen) out.resize(kChosen);
  return std::optional(std::move(out));
}

}  // namespace

Result<SelfTestFigure> head_orderSelfTest(SelfTestRoom& room) {
  if (!room.backend().onHost()) return skippedTest("the test computes on the CPU: give --backend cpu");
  const ModelConfig& config = room.config();
  if (config.heads == 1) return skippedTest("the model has one head");
  DenseRun run = KV_TRY(DenseRun::create(room.weights(), room.backend(), room.ids(room.affordable(kShort))));
  run.run();
  const TextFit first(KV_TRY(run.losses(Layer(config.layers))));
  if (!first.predicts(config.vocab)) return first.figure(config.vocab);
  const auto chosen = KV_TRY(chosenSwaps(room, run, first.ownMean()));
  if (!chosen) return skippedTest("heads have no rows of their own in these weights");
  DenseRun longer = KV_TRY(DenseRun::create(room.weights(), room.backend(), room.ids(room.affordable(kLong))));
  longer.run();
  TextFit fit(KV_TRY(longer.losses(Layer(config.layers))));
  for (const HeadSwap& swap : *chosen) {
    const std::vector<double> losses = KV_TRY(lossesWith(room, longer, swap));
    fit.compare(losses, textOf(swap));
  }
  fit.alsoTried(swapsOf(config).size() - chosen->size());
  return fit.figure(config.vocab);
}

}  // namespace kvlab
