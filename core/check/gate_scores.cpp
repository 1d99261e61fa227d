// SPDX-License-Identifier: Apache-2.0
// A row's gate score equals the gate's score of the row's stored key, computed in double. A full check draws 16 rows, a
// cheap check one row in one tick of sixteen: the newest row in any layer, or any row in the first layer. Other rows
// are not compared, because a rebuild computes their keys from the rows that are present then, and a score stays. The
// check skips gates that read keys behind k-norm or rotation, and keys that are stored in another order than projected.
// semantics.md, section 6.
#include <algorithm>
#include <cmath>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/check/stored_heads.h"
#include "core/model/decoder/frequencies.h"
#include "core/model/decoder/gate_weights.h"
#include "core/model/decoder/row_codec.h"
#include "core/model/files/tensor.h"
#include "kernels/row_checksum.h"

namespace kvlab {
namespace {

constexpr int kGatesDrawn = 16, kGateTurns = 16;
/// Allowed error, relative to 1 + |score|: for keys as they were projected, and for keys whose codes have 8 bits.
constexpr double kGateExact = 2e-2, kGateRounded = 0.3;

/// Score that the gate of a head gives a key.
double scoreOf(const kernels::GateMlpArgs& gates, std::int64_t gate, std::vector<double> x) {
  for (int stage = 0; stage < kernels::kGateStages; ++stage) {
    const kernels::Weight& w = gates.w[stage];
    const std::int64_t bytes = kernels::dtypeRowBytes(w.type, w.k);
    std::vector<double> next(at(w.n));
    for (std::int64_t o = 0; o < w.n; ++o) {
      const auto* row = static_cast<const std::byte*>(w.data) + (gate * w.n + o) * bytes;
      const std::vector<float> values = widened(TensorView{row, w.type, {w.k}});
      double sum = static_cast<double>(gates.b[stage][gate * w.n + o]);
      for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(values[i]) * x[i];
      next[at(o)] = stage + 1 < kernels::kGateStages ? std::max(0.0, sum) : sum;
    }
    x = std::move(next);
  }
  return x.front();
}

/// True if keys are stored as gates read them.
bool readable(const CheckInput& input, const GateWeights& gates) {
  const Model& model = input.transformer->model();
  return gates.input() == GateInput::PreRope && !input.transformer->keysRotated() && !model.layer(Layer(0)).kNorm &&
      engineOrder(model.config()).empty() && neighbourOrder(model.config()).empty() && input.store.backend().onHost();
}

void scored(const CheckInput& input, const GateWeights& gates, std::uint64_t random, Findings& findings) {
  const CacheState& state = input.state;
  const CacheLayers layers = state.cacheLayers();
  const bool newest = random / 2 % 2 == 1 && input.before && !input.deeds.empty();
  const std::size_t among = newest ? state.groupOf.size() : at(layers.perLayer);
  const CacheLayer layer(static_cast<std::int32_t>(random / 8 % among));
  const ResidencyView& map = state.map(layer);
  if (map.resident() == 0) return;
  const std::size_t i = newest ? map.size() - 1 : at(map.first) + random / 4096 % map.resident();
  const std::size_t id = at(map.ledger[i].value());
  if (state.pastOf(layer, map.ledger[i]).k.any()) return;  // the gate saw another key
  if (newest && map.ledger[i] < input.before->ledger.nextId()) return;
  const RowPool& pool = input.store.pool(layer);
  if (!codecOf(pool.format().codecs, true).empty()) return;  // and here
  const int head = static_cast<int>(random / 512 % at(pool.format().kvHeads));
  const Column<float>& all = state.gateScores[at(layers.layerOf(layer))];
  const std::size_t heads = at(input.transformer->model().config().kvHeads),
                    kv = at(layers.partOf(layer)) * at(pool.format().kvHeads) + at(head);
  const Slot slot = map.slotOf[i];
  if (id * heads + kv >= all.size() || slot.value() < 0 || slot.value() >= pool.slots()) return;
  const auto is = static_cast<double>(all[id * heads + kv]);
  std::vector<double> key(at(pool.format().headDim));
  HeadReader(pool, {&slot, 1}, head)(0, false, key);
  const auto gate = static_cast<std::int64_t>(at(layers.layerOf(layer)) * heads + kv);
  const double wanted = scoreOf(gates.args(), gate, std::move(key));
  const double room = kernels::dtypeHasScale(pool.format().k) ? kGateRounded : kGateExact;
  if (std::isnan(is) || std::abs(is - wanted) <= room * (1 + std::abs(wanted))) return;
  findings.add({layer, i, map.ledger[i]},
               "layer " + layers.name(layer) + ": the gate of KV head " + std::to_string(kv) + " makes " +
                   std::to_string(wanted) + " of the key of " + rowName(map.ledger[i]) + ", and its score is " +
                   std::to_string(is));
}

}  // namespace

void checkGateScores(const CheckInput& input, Findings& findings) {
  const CacheState& state = input.state;
  if (!input.transformer || !state.policy || !state.policy->gates || state.kind->derivesContext() ||
      state.gateScores.size() != at(state.cacheLayers().layers) || !readable(input, *state.policy->gates))
    return;
  if (!input.full && state.tick.value() % kGateTurns != 0) return;
  std::uint64_t random = kernels::mix64(static_cast<std::uint64_t>(state.tick.value()) + kernels::kChecksumIndexStep);
  for (int i = 0; i < (input.full ? kGatesDrawn : 1); ++i) {
    random = kernels::mix64(random + 1);
    scored(input, *state.policy->gates, random, findings);
  }
}

}  // namespace kvlab
