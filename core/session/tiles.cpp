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

constexpr std::size_t kMostValues = std::size_t{1} << 24;  // gathered at a time

float norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double(value) * value;
  return static_cast<float>(std::sqrt(sum));
}

/// L2 over all heads of each row's K or V for `count` layers from `first` on. Neighbours that share a map are
/// read together.
std::vector<std::vector<float>> norms(const CacheStore& store, const CacheState& state, int first, int count, bool keys) {
  std::vector<std::vector<float>> out(at(count));
  const std::size_t width = at(store.pool(first).width());
  for (int done = 0; done < count;) {
    const ResidencyView& map = state.map(first + done);
    const std::size_t values = map.resident() * width;
    std::vector<kernels::PoolView> pools;
    while (done + static_cast<int>(pools.size()) < count && &state.map(first + done + static_cast<int>(pools.size())) == &map &&
           (pools.empty() || (pools.size() + 1) * values <= kMostValues))
      pools.push_back(store.pool(first + done + static_cast<int>(pools.size())).view());
    const std::vector<float> gathered = gatherRows(store.backend(), pools, plain(map.residentSlots()), keys);
    for (std::size_t l = 0; l < pools.size(); ++l) {
      std::vector<float>& one = out[at(done) + l];
      one.assign(at(map.first), kNone);
      for (std::size_t i = 0; i < map.resident(); ++i) one.push_back(norm({gathered.data() + l * values + i * width, width}));
    }
    done += static_cast<int>(pools.size());
  }
  return out;
}

}  // namespace

Result<Tile> Session::tile(const TileRequest& request) const {
  const CacheState& state = m_state;
  if (request.layer && (request.layer->value() < 0 || request.layer->value() >= state.layers()))
    return Error{"out_of_range", "the tile was refused", "there is no layer " + std::to_string(request.layer->value()),
                 "ask for a layer that the cache has", std::nullopt, "layer", request.layer->value()};
  Tile tile{request, state.tick, request.layer ? 1 : state.layers(), 0, {}};
  const std::int32_t begin = std::clamp(request.begin.value(), 0, state.length());
  const std::int32_t end = std::clamp(request.end.value(), begin, state.length());
  tile.positions = end - begin;
  tile.values.assign(at(tile.layers) * at(tile.positions), kNone);
  const int first = request.layer ? request.layer->value() : 0;
  const bool keys = request.quantity == Quantity::KNorm;
  std::vector<std::vector<float>> rows(at(tile.layers));
  if (keys || request.quantity == Quantity::VNorm) rows = norms(m_store, state, first, tile.layers, keys);
  for (int l = 0; l < tile.layers; ++l)
    fillTile(request.quantity, first + l, begin, std::move(rows[at(l)]), {tile.values.data() + at(l) * at(tile.positions), at(tile.positions)});
  return tile;
}

/// One layer's values for context positions [begin, begin + out.size()); perIndex: where a quantity is known
/// by index of the map.
void Session::fillTile(Quantity quantity, int layer, std::int32_t begin, std::vector<float> perIndex, std::span<float> out) const {
  const CacheState& state = m_state;
  const ResidencyView& map = state.map(layer);
  const bool attends = quantity == Quantity::Attention || quantity == Quantity::Received;
  if (attends && state.attention && at(layer) < state.attention->mass.size()) {
    const std::shared_ptr<const ResidencyView>& seen = state.attention->maps[at(layer)];
    perIndex = quantity == Quantity::Attention ? state.attention->mass[at(layer)] : state.attention->received[at(layer)];
    if (!perIndex.empty()) perIndex.resize(seen->size());
    perIndex = alignedWith(map, {seen, std::move(perIndex)}, 1, kNone);
  }
  if (quantity == Quantity::Score) perIndex = scores(layer);
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
