// SPDX-License-Identifier: Apache-2.0
// Dense columns for the window, computed on request. core/api/tile.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/session/norm_tile.h"
#include "core/session/session.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kAttentionTicks = 64;  // that go on bringing what was asked for

class ReadyTile : public PendingTile {
 public:
  explicit ReadyTile(Tile tile) : m_tile(std::move(tile)) {}
  bool arrived() const override { return true; }
  Result<Tile> take() override { return std::move(m_tile); }

 private:
  Tile m_tile;
};

}  // namespace

/// Has the newest row's attention for layers [first, first + layers), if it can be had.
Status Session::lookForAttention(int first, int layers) {
  const std::shared_ptr<const NewestAttention>& seen = m_attention ? m_attention : m_state.attention;
  if (!seen || !m_manifest.probes || m_state.wlod || seen->mass.size() < at(first + layers)) return ok();
  const auto begin = seen->mass.begin() + first;
  if (first < m_state.layers() - m_state.perLayer)
    m_attentionUntil = std::max(m_attentionUntil, m_state.tick.value() + kAttentionTicks);
  if (std::none_of(begin, begin + layers, [](const std::vector<float>& mass) { return mass.empty(); })) return ok();
  TransactionRules rules = transactionRules();
  rules.wanted.newest = InLayers::All;
  Trace trace;
  FaultDoor closed;  // a drill waits for a step, not for somebody who looks
  Result<CacheState> fresh = Transaction(m_transformer.get(), m_store, m_layouts, closed).query(m_state, rules, trace);
  if (!fresh && fresh.error().code == "staging") return ok();  // history keeps every slot: the next tick brings it
  if (!fresh) return fresh.error();
  m_attention = fresh->attention;
  return ok();
}

Result<std::unique_ptr<PendingTile>> Session::tile(const TileRequest& request) {
  const CacheState& state = m_state;
  if (request.layer && (request.layer->value() < 0 || request.layer->value() >= state.layers()))
    return Error{"out_of_range",
                 "the tile was refused",
                 "there is no layer " + std::to_string(request.layer->value()),
                 "ask for a layer that the cache has",
                 std::nullopt,
                 "layer",
                 request.layer->value()};
  Tile tile{request, state.tick, request.layer ? 1 : state.layers(), 0, {}};
  const std::int32_t begin = std::clamp(request.begin.value(), 0, state.length());
  const std::int32_t end = std::clamp(request.end.value(), begin, state.length());
  tile.request.begin = Position(begin);
  tile.positions = end - begin;
  tile.values.assign(at(tile.layers) * at(tile.positions), request.quantity == Quantity::Residency ? 0.0f : kNone);
  if (request.quantity == Quantity::KNorm || request.quantity == Quantity::VNorm)
    return normTile(std::move(tile), m_backend, m_store, state);
  const int first = request.layer ? request.layer->value() : 0;
  if (request.quantity == Quantity::Attention)
    if (Status seen = lookForAttention(first, tile.layers); !seen) return seen.error();
  for (int l = 0; l < tile.layers; ++l)
    fillTile(request.quantity, first + l, begin, {tile.values.data() + at(l) * at(tile.positions), at(tile.positions)});
  return std::unique_ptr<PendingTile>(std::make_unique<ReadyTile>(std::move(tile)));
}

/// One layer's values for context positions [begin, begin + out.size()); the others stay.
void Session::fillTile(Quantity quantity, int layer, std::int32_t begin, std::span<float> out) const {
  const CacheState& state = m_state;
  const ResidencyView& map = state.map(layer);
  std::vector<float> perIndex;  // where a quantity is known by index of the map
  const bool newest = quantity == Quantity::Attention;
  const auto& attention = newest && m_attention ? m_attention : state.attention;
  if ((newest || quantity == Quantity::Received) && attention && at(layer) < attention->mass.size()) {
    const std::shared_ptr<const ResidencyView>& seen = attention->maps[at(layer)];
    perIndex = newest ? attention->mass[at(layer)] : attention->received[at(layer)];
    if (!perIndex.empty()) perIndex.resize(seen->size());
    perIndex = alignedWith(map, {seen, std::move(perIndex)}, 1, kNone);
  }
  if (quantity == Quantity::Score) perIndex = scores(layer);
  const ExactnessMap* exact = quantity == Quantity::Staleness ? &exactnessMap() : nullptr;
  forResident(state, map, begin, begin + static_cast<std::int32_t>(out.size()), [&](std::int32_t p, std::size_t i) {
    const LedgerId id = state.context[at(p)];
    float& value = out[at(p - begin)];
    switch (quantity) {
      case Quantity::Residency: value = 1.0f; break;
      case Quantity::Brightness: value = state.brightness[at(p)]; break;
      case Quantity::Age: value = static_cast<float>(state.tick.value() - state.ledger[id].born.value()); break;
      case Quantity::PhaseLag:
        value = static_cast<float>(std::abs(map.phases[i] - state.birthPhases[at(id.value())]));
        break;
      case Quantity::Staleness: value = static_cast<float>(exact->layers[at(layer)][at(p)]); break;
      case Quantity::DriftK: value = m_drift ? m_drift->kRows[at(layer)][at(p)] : kNone; break;
      case Quantity::DriftV: value = m_drift ? m_drift->vRows[at(layer)][at(p)] : kNone; break;
      case Quantity::QuantK: value = m_quantisation ? (*m_quantisation)[at(layer)].k.relative[at(p)] : kNone; break;
      case Quantity::QuantV: value = m_quantisation ? (*m_quantisation)[at(layer)].v.relative[at(p)] : kNone; break;
      case Quantity::QuantLogit: value = m_quantisation ? (*m_quantisation)[at(layer)].logit[at(p)] : kNone; break;
      default: value = i < perIndex.size() ? perIndex[i] : kNone;
    }
  });
}

}  // namespace kvlab
