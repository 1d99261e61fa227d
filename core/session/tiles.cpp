// SPDX-License-Identifier: Apache-2.0
// Dense columns for the window, computed on request. core/api/tile.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/session/session.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// L2 over all heads of each row's K or V.
std::vector<float> norms(const RowPool& pool, const ResidencyView& map, bool keys) {
  const std::int64_t width = pool.width();
  const auto n = static_cast<std::int64_t>(map.resident());
  std::vector<float> values(at(n * width)), out(at(map.first), kNone);
  pool.gather(plain(map.residentSlots()), keys ? values.data() : nullptr, keys ? nullptr : values.data());
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < width; ++j) sum += double(values[at(i * width + j)]) * values[at(i * width + j)];
    out.push_back(static_cast<float>(std::sqrt(sum)));
  }
  return out;
}

}  // namespace

Result<Tile> Session::tile(const TileRequest& request) const {
  const CacheState& state = m_state;
  if (request.layer && (request.layer->value() < 0 || request.layer->value() >= state.layers()))
    return Error{"out_of_range", "the tile was refused", "there is no layer " + std::to_string(request.layer->value()),
                 "ask for a layer of the model", std::nullopt, "layer", request.layer->value()};
  Tile tile{request, state.tick, request.layer ? 1 : state.layers(), 0, {}};
  const std::int32_t begin = std::clamp(request.begin.value(), 0, state.length());
  const std::int32_t end = std::clamp(request.end.value(), begin, state.length());
  tile.positions = end - begin;
  tile.values.assign(at(tile.layers) * at(tile.positions), kNone);
  const int first = request.layer ? request.layer->value() : 0;
  for (int l = 0; l < tile.layers; ++l)
    fillTile(request.quantity, first + l, begin, {tile.values.data() + at(l) * at(tile.positions), at(tile.positions)});
  return tile;
}

/// One layer's values for context positions [begin, begin + out.size()).
void Session::fillTile(Quantity quantity, int layer, std::int32_t begin, std::span<float> out) const {
  const CacheState& state = m_state;
  const ResidencyView& map = state.map(layer);
  std::vector<float> perIndex;  // where a quantity is known by index
  if (quantity == Quantity::KNorm || quantity == Quantity::VNorm)
    perIndex = norms(m_store.pool(layer), map, quantity == Quantity::KNorm);
  const bool attends = quantity == Quantity::Attention || quantity == Quantity::Received;
  if (attends && state.attention && at(layer) < state.attention->mass.size() &&
      state.attention->maps[at(layer)]->ledger.size() <= map.size()) {
    perIndex = quantity == Quantity::Attention ? state.attention->mass[at(layer)] : state.attention->received[at(layer)];
    const Column<LedgerId>& seen = state.attention->maps[at(layer)]->ledger;
    if (!std::equal(seen.begin(), seen.end(), map.ledger.begin())) perIndex.clear();
    else perIndex.resize(std::min(perIndex.size(), seen.size()));
  }
  const ExactnessMap* exact = quantity == Quantity::Staleness ? &exactnessMap() : nullptr;
  std::size_t index = 0;
  for (std::int32_t p = 0; p < begin + static_cast<std::int32_t>(out.size()); ++p) {
    const LedgerId id = state.context[at(p)];
    const bool counted = index < map.size() && map.ledger[index] == id;
    const std::size_t i = index;
    if (counted) ++index;
    const bool resident = counted && map.has(i);
    if (p < begin) continue;
    float& value = out[at(p - begin)];
    if (quantity == Quantity::Residency) value = resident ? 1.0f : 0.0f;
    if (!resident) continue;
    switch (quantity) {
      case Quantity::Brightness: value = state.brightness[at(p)]; break;
      case Quantity::Age: value = static_cast<float>(state.tick.value() - state.ledger[id].born.value()); break;
      case Quantity::PhaseLag: value = static_cast<float>(std::abs(map.phases[i] - state.birthPhases[at(id.value())])); break;
      case Quantity::Staleness: value = static_cast<float>(exact->layers[at(layer)][at(p)]); break;
      case Quantity::DriftK: value = m_drift ? m_drift->kRows[at(layer)][at(p)] : kNone; break;
      case Quantity::DriftV: value = m_drift ? m_drift->vRows[at(layer)][at(p)] : kNone; break;
      case Quantity::QuantK: value = m_quantisation ? (*m_quantisation)[at(layer)].k.relative[at(p)] : kNone; break;
      case Quantity::QuantV: value = m_quantisation ? (*m_quantisation)[at(layer)].v.relative[at(p)] : kNone; break;
      case Quantity::QuantLogit: value = m_quantisation ? (*m_quantisation)[at(layer)].logit[at(p)] : kNone; break;
      case Quantity::Residency: break;
      default: value = i < perIndex.size() ? perIndex[i] : kNone;
    }
  }
}

}  // namespace kvlab
